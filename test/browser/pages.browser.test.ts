import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { readTraffic } from '../../src/traffic/traffic.ts';
import { numbers } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { headline } from './support/read-page.ts';
import { LOOKS, PATIENCE_MS, picture, visit } from './support/visit.ts';
import { startWatched, type Watched } from './support/watched.ts';

const redis = testRedis();
/** A bit of everything that pages show: failures, unknown contacts and notices, a paused batch. */
async function busy(): Promise<Watched> {
  const watched = await startWatched(redis);
  const { emulator } = watched.fleet;
  const queue = watched.ops.context.notices;
  const rows = numbers(12).map((contact) => ({ contact, var1: 'Kim' }));
  const settled = async (what: string, batch: string) => {
    await until(async () => (await watched.ops.context.ledger.read(batch))?.counts.pending === 0, {
      what,
      deadlineMs: PATIENCE_MS,
    });
  };
  emulator.addFault({ on: 'send', times: 1, reset: 'after-acting' });
  const notice = { templateCode: 'ORDER_READY', contacts: rows.slice(0, 1) };
  await queue.send(notice, { delivery: 'at-most-once' });
  const operator = await watched.ops.operator();
  await until(async () => (await operator.get('/api/v1/failures')).json['matching'] === 1, {
    what: 'the notice to be unknown',
    deadlineMs: PATIENCE_MS,
    everyMs: 200,
  });
  for (const [batchId, status] of [
    ['refused-in-part', 400],
    ['unknown-in-part', 503],
  ] as const) {
    emulator.addFault({ on: 'send', times: 3, status, code: 'INVALID_TEMPLATE' });
    const options = {
      templateCode: 'ORDER_READY',
      batchId,
      delivery: 'at-most-once' as const,
      again: true,
    };
    await queue.import(rows, { ...options, chunkSize: 1 });
    await settled(`the batch ${batchId} to be settled`, batchId);
  }
  await operator.post('/api/v1/hold/place', { why: 'the text is being checked' });
  await queue.import(rows, {
    templateCode: 'ORDER_READY',
    batchId: 'waits',
    chunkSize: 5,
    again: true,
  });
  await operator.post('/api/v1/batches/waits/pause');
  await operator.post('/api/v1/hold/lift', { why: 'checked' });
  return watched;
}

/** Faults that keep people from using the page. */
async function seriousFaults(page: Page): Promise<string[]> {
  const { violations } = await page.evaluate(() => {
    const { axe } = window as unknown as { axe: { run: () => Promise<AxeResults> } };
    return axe.run();
  });
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

async function isWiderThanWindow(page: Page): Promise<boolean> {
  return page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
}

describe('every page', () => {
  it.each(LOOKS.slice(0, 3))('has no fault and is readable: %s', async (look, options) => {
    const watched = await busy();
    const found: unknown[] = [];
    const inspect = async (page: Page, name: string) => {
      await picture(page, `${name}-${look}`);
      const faults = await seriousFaults(page);
      if (faults.length > 0) found.push([name, faults]);
      if (await isWiderThanWindow(page)) found.push([name, 'is wider than the window']);
    };
    const { page, forgive } = await watched.look('otto', { ...options, withAxe: true });
    await page.goto('/');
    await headline(page, 'unknown outcomes to decide');
    await inspect(page, 'overview');
    for (const path of [
      '/waiting',
      '/batches',
      '/batches/refused-in-part',
      '/batches/waits',
      '/notices',
    ]) {
      await page.goto(path);
      await inspect(page, path.slice(1).replaceAll('/', '-'));
    }
    await page
      .getByText(/^Decide on all/)
      .first()
      .click();
    await inspect(page, 'deciding');
    await page.goto('/batches/refused-in-part');
    await page
      .getByText(/^Decide on .*\.\.\.$/)
      .first()
      .click();
    await inspect(page, 'deciding-on-a-list');
    await page.goto('/find');
    await inspect(page, 'find');
    const find = async (number: string) => {
      await page.getByLabel('Phone number').fill(number);
      await page.getByRole('button', { name: 'Find' }).click();
    };
    await find(numbers(1)[0] ?? '');
    await page.getByRole('region', { name: 'Search results' }).waitFor();
    await inspect(page, 'found');
    // A page that asks again is answered 400.
    forgive(/status of 400/);
    await find('no number');
    await page.getByRole('alert').filter({ hasText: 'Not searched' }).waitFor();
    await inspect(page, 'find-again');
    await page.goto('/audit');
    await inspect(page, 'audit');
    await page.goto('/queues');
    await page.getByText('send').first().waitFor();
    await inspect(page, 'queues');

    watched.fleet.emulator.addFault({ on: 'send', status: 402 });
    await watched.fleet.sendEach(numbers(3, 100));
    await page.goto('/');
    await headline(page, 'Held: credit');
    await inspect(page, 'held');
    watched.fleet.emulator.clearFaults();

    const stranger = await visit(watched.ops.url, { ...options, withAxe: true });
    await stranger.page.goto('/sign-in');
    await inspect(stranger.page, 'sign-in');
    expect(found).toEqual([]);
  });

  it('says the same without script', async () => {
    const watched = await busy();
    // The page is asked for once, and workers write down what they sent with their heartbeat.
    const recorded = async () => {
      const { redis: client, keys } = watched.ops.context;
      const { total } = await readTraffic(client, keys);
      return total.chunks.accepted > 0;
    };
    await until(recorded, { what: 'the sends to be recorded', deadlineMs: PATIENCE_MS });
    const { page } = await watched.look('vera', { javaScript: false });
    await page.goto('/');
    await page.getByText(/contacts accepted with/).waitFor();
    expect(await page.getByRole('button').allTextContents()).toEqual(['Sign out']);
  });
});
