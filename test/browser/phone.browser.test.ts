import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { allFailed } from '../../src/batch/ledger/settlement.ts';
import { beat } from '../../src/fleet/heartbeat.ts';
import { buildBatch, contacts } from '../batch/support/built-batch.ts';
import { startOps } from '../ops/web/support/ops-bench.ts';
import { testRedis } from '../support/redis.ts';
import { picture, visit } from './support/visit.ts';

const redis = testRedis();
const WIDTH = 375;
/** As long as ids, codes and reasons may be. */
const ID = `spring-campaign-of-all-customers-2026-${'x'.repeat(26)}`;
const CODE = `INVALID_TEMPLATE_OF_ANOTHER_TEAM_${'Y'.repeat(28)}`;
const WHY = `checked with the team on call, see https://tickets.example.com/${'z'.repeat(110)}`;
const HOST = `notice-worker-deployment-${'7'.repeat(38)}.example`;

/** A batch that failed in part, one that is stalled, a worker that is not ready, and an audit of long texts. */
async function phone() {
  const prefix = redis.freshPrefix();
  const ops = await startOps(redis.url, prefix);
  const { keys } = ops.context;
  const failed = await buildBatch(redis.client, prefix, ID, [contacts(10), contacts(10, 10)]);
  const message = `The template belongs to another team. ${'long '.repeat(20)}`;
  await failed.settle(0, allFailed('rejected', CODE, message));
  await redis.client.hset(keys.batch(ID).record, { movedAt: Date.now() - 600_000 });
  const worker = { id: 'w', host: HOST, pid: 123_456, version: '10.20.30', active: 0 };
  const unready = [{ reason: `Redis is unsuitable: ${'memory '.repeat(15)}`, since: Date.now() }];
  const more = {
    concurrency: 40,
    startedAt: Date.now() - 90_000,
    loopDelayMs: 1_500,
    pair: 'pair',
    unready,
  };
  await beat(redis.client, keys, { ...worker, ...more }, 60_000);
  const operator = await ops.operator();
  await operator.post(`/api/v1/batches/${ID}/pause`, { why: WHY });
  await operator.post(`/api/v1/batches/${ID}/resume`, { why: WHY });
  const { page } = await visit(ops.url, {
    colorScheme: 'dark',
    viewport: { width: WIDTH, height: 812 },
    cookie: ops.cookie('otto', Date.now()),
  });
  return { page, keys };
}

/** Looks at all of a page in one step: it replaces its sections by itself. */
async function problemsOf(page: Page, name: string, labels: readonly string[]): Promise<unknown[]> {
  await picture(page, `phone-${name}`);
  const seen = await page.evaluate((wanted) => {
    const scrolls = ({ scrollWidth, clientWidth, scrollHeight, clientHeight }: Element) =>
      scrollWidth > clientWidth || scrollHeight > clientHeight;
    const cells = wanted.map((label) => {
      const all = [...document.querySelectorAll(`td[data-label="${label}"], .tag.${label}`)];
      const cell = all.find((one) => one.checkVisibility());
      const { left = -1, right = 0, width = 0 } = cell?.getBoundingClientRect() ?? {};
      const words = cell === undefined ? '' : getComputedStyle(cell, '::before').content;
      return [label, left >= 0 && width > 0 && right <= window.innerWidth, words];
    });
    const boxes = [...document.querySelectorAll('.scroll')].filter(scrolls).length;
    return { width: document.documentElement.scrollWidth, boxes, cells };
  }, labels);
  const { width, boxes, cells } = seen;
  return [
    ...(width === WIDTH ? [] : [`${width} wide`]),
    ...(boxes === 0 ? [] : [`${boxes} boxes that scroll`]),
    ...cells.filter(([label, isWithin, words]) => {
      const labelled = label === 'stalled' ? 'none' : `"${String(label)}: "`;
      return isWithin !== true || words !== labelled;
    }),
  ];
}

describe('a phone of 375 pixels', () => {
  it('shows all of a row, with its labels', async () => {
    const { page, keys } = await phone();
    await page.goto('/batches');
    expect(
      await problemsOf(page, 'batches', [
        'Batch',
        'Progress',
        'Contacts',
        'Not accepted',
        'Started',
      ]),
    ).toEqual([]);
    await page.goto(`/batches/${ID}`);
    await page.getByText('Decide on 10 contacts...').first().click();
    expect(
      await problemsOf(page, 'batch', ['State', 'Code', 'Contacts', 'Answer of the service']),
    ).toEqual([]);
    await page.goto('/audit');
    expect(await problemsOf(page, 'audit', ['When', 'Who', 'What', 'Target', 'Why'])).toEqual([]);
    await page.goto('/');
    expect(
      await problemsOf(page, 'workers', ['Host', 'Process', 'Version', 'Jobs', 'Last heartbeat']),
    ).toEqual([]);

    // Resuming counts as a move: only after a minute the batch is stalled.
    await redis.client.hset(keys.batch(ID).record, { movedAt: Date.now() - 600_000 });
    await page.goto('/batches');
    await page.locator('.tag.stalled').waitFor();
    expect(await problemsOf(page, 'stalled', ['stalled'])).toEqual([]);
    await page.goto('/notices');
    expect(await problemsOf(page, 'notices', [])).toEqual([]);
  });

  it('filters batches without script, and keeps what is chosen', async () => {
    const prefix = redis.freshPrefix();
    const ops = await startOps(redis.url, prefix);
    const { keys } = ops.context;
    await buildBatch(redis.client, prefix, 'old', [contacts(1)]);
    await buildBatch(redis.client, prefix, 'young', [contacts(1)]);
    await redis.client.zadd(keys.batches, Date.now() - 7_200_000, 'old');
    const { page } = await visit(ops.url, {
      cookie: ops.cookie('vera', Date.now()),
      javaScript: false,
      viewport: { width: WIDTH, height: 812 },
    });
    await page.goto('/batches');
    await page.getByLabel('Created since').fill('1h');
    await page.getByLabel('Phase').selectOption('sending');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByText('1 sending batch among 1 of 1').waitFor();
    expect(await page.locator('#batches tbody a').allTextContents()).toEqual(['young']);
    expect(await page.getByLabel('Created since').inputValue()).toBe('1h');
    expect(await page.getByLabel('Phase').inputValue()).toBe('sending');
    await page.getByRole('link', { name: 'Show all' }).click();
    await page.getByText('1 to 2 of 2').waitFor();
  });
});
