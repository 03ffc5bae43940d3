import { describe, expect, it } from 'vitest';
import { numbers } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { tile, isSamePage, markPage } from './support/read-page.ts';
import { PATIENCE_MS } from './support/visit.ts';
import { startWatched } from './support/watched.ts';

const redis = testRedis();
const rows = (count: number) => numbers(count).map((contact) => ({ contact, var1: 'x' }));

describe('a person who watches', () => {
  it('sees a batch move live, pauses it, resumes it and cancels it', async () => {
    const watched = await startWatched(redis, { emulator: { latencyMs: 150 } });
    const { batch } = await watched.fleet.queue.import(rows(2_000), {
      templateCode: 'LIVE',
      chunkSize: 1,
    });
    const { page } = await watched.look();
    await page.goto(`/batches/${batch}`);
    await markPage(page);
    const accepted = () => tile(page, 'accepted');
    const moves = async (what: string) => {
      const before = await accepted();
      await until(async () => (await accepted()) > before + 1, {
        what,
        deadlineMs: PATIENCE_MS,
        everyMs: 200,
      });
    };
    await moves('the batch to move on the page');
    await moves('it to go on moving');
    expect(await isSamePage(page)).toBe(true);

    await page.getByRole('button', { name: 'Pause' }).click();
    await page.locator('#progress .tag', { hasText: 'paused' }).waitFor();
    // What was being sent is let finish; then the emulator hears of nothing more.
    const seen = () => watched.fleet.emulator.record().contacts;
    const ledger = async () => (await watched.ops.context.ledger.read(batch))?.counts;
    await until(async () => (await ledger())?.sending === 0, {
      what: 'the sends under way to end',
      deadlineMs: PATIENCE_MS,
    });
    const stoodAt = seen();
    await until(async () => (await accepted()) === stoodAt, {
      what: 'the page to show what was accepted',
      deadlineMs: PATIENCE_MS,
      everyMs: 200,
    });
    expect(seen()).toBe(stoodAt);

    await page.getByRole('button', { name: 'Resume' }).click();
    await page.locator('#progress .tag', { hasText: 'sending' }).waitFor();
    await moves('it to move again');

    await page.getByText('Cancel...').click();
    await page.getByLabel('Why').fill('a mistake in the text');
    await page.getByRole('button', { name: 'Cancel the batch' }).click();
    await page.locator('#progress .tag', { hasText: 'cancelled' }).waitFor();
    await page.goto('/audit');
    await page.getByRole('cell', { name: 'a mistake in the text' }).waitFor();
  });
});
