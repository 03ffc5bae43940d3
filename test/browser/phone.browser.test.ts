import type { Locator, Page } from 'playwright-core';
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
async function phone(colorScheme: 'light' | 'dark') {
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
    colorScheme,
    viewport: { width: WIDTH, height: 812 },
    cookie: ops.cookie('otto', Date.now()),
  });
  return { page, keys };
}

/** Whether all of an element is within the width of the phone. */
async function isWithin(place: Locator): Promise<boolean> {
  const box = await place.boundingBox();
  return box !== null && box.width > 0 && box.x >= 0 && box.x + box.width <= WIDTH;
}

/** The label that a cell has on a phone. */
const labelOf = (cell: Locator) =>
  cell.evaluate((one) => getComputedStyle(one, '::before').content.replaceAll('"', ''));

async function expectReadable(page: Page, name: string, cells: Readonly<Record<string, Locator>>) {
  await picture(page, `phone-${name}`);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect([name, width]).toEqual([name, WIDTH]);
  const hidden = await page.evaluate(
    () =>
      [...document.querySelectorAll('.scroll')].filter(
        (box) => box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight,
      ).length,
  );
  expect([name, 'boxes that scroll', hidden]).toEqual([name, 'boxes that scroll', 0]);
  for (const [label, cell] of Object.entries(cells)) {
    expect([name, label, await cell.isVisible(), await isWithin(cell)]).toEqual([
      name,
      label,
      true,
      true,
    ]);
    expect(await labelOf(cell)).toBe(`${label}: `);
  }
}

describe('a phone of 375 pixels', () => {
  it.each(['light', 'dark'] as const)('shows all of a row, with its labels: %s', async (scheme) => {
    const { page, keys } = await phone(scheme);
    const cell = (label: string) => page.locator(`td[data-label="${label}"]:visible`).first();
    const cells = (...labels: string[]) =>
      Object.fromEntries(labels.map((label) => [label, cell(label)]));

    await page.goto('/batches');
    const inList = cells('Batch', 'Progress', 'Contacts', 'Not accepted', 'Started');
    await expectReadable(page, `batches-${scheme}`, inList);
    await page.goto(`/batches/${ID}`);
    await page.getByText('Decide on 10 contacts...').first().click();
    const inBatch = cells('State', 'Code', 'Contacts', 'Answer of the service');
    await expectReadable(page, `batch-${scheme}`, inBatch);
    await page.goto('/audit');
    await expectReadable(page, `audit-${scheme}`, cells('When', 'Who', 'What', 'Target', 'Why'));
    await page.goto('/');
    const ofWorker = cells('Host', 'Process', 'Version', 'Jobs', 'Last heartbeat');
    await expectReadable(page, `workers-${scheme}`, ofWorker);

    // Resuming counts as a move: only after a minute the batch is stalled.
    await redis.client.hset(keys.batch(ID).record, { movedAt: Date.now() - 600_000 });
    await page.goto('/batches');
    await page.locator('.tag.stalled').waitFor();
    expect(await isWithin(page.locator('.tag.stalled'))).toBe(true);
    await page.goto('/notices');
    await expectReadable(page, `notices-${scheme}`, {});
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
    await page.getByLabel('Created within').selectOption('the last hour');
    await page.getByLabel('Phase').selectOption('sending');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByText('1 sending batch among 1 of 1').waitFor();
    expect(await page.locator('#batches tbody a').allTextContents()).toEqual(['young']);
    expect(await page.getByLabel('Created within').inputValue()).toBe('1h');
    expect(await page.getByLabel('Phase').inputValue()).toBe('sending');
    await page.getByRole('link', { name: 'Show all' }).click();
    await page.getByText('1 to 2 of 2').waitFor();
  });
});
