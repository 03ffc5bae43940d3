import { describe, expect, it } from 'vitest';
import { numbers } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { PASSWORD, startOps } from '../ops/web/support/ops-bench.ts';
import { headline, isSamePage, markPage, tile } from './support/read-page.ts';
import { PATIENCE_MS, picture, visit } from './support/visit.ts';
import { rows, startWatched } from './support/watched.ts';

const redis = testRedis();

describe('a person who acts', () => {
  it('signs in, is led to the page asked for, signs out, and Back shows nothing', async () => {
    const ops = await startOps(redis.url, redis.freshPrefix());
    const { page, forgive } = await visit(ops.url);
    // A page that nobody may see is answered 401, with the form to sign in.
    forgive(/status of 401/);
    await page.goto('/batches');
    await page.getByLabel('Name').fill('otto');
    await page.getByLabel('Password').fill('not the password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').filter({ hasText: /./ }).waitFor();
    await page.getByLabel('Name').fill('otto');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Batches' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/batches');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();

    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    expect(await page.content()).not.toContain('There are no batches.');
  });

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

    const rate = page.locator('#progress details', { hasText: 'Rate...' });
    await rate.getByText('Rate...').click();
    await rate.getByLabel('Contacts a second').fill('7');
    await rate.getByLabel('Why').fill('slower');
    await rate.getByRole('button', { name: 'Change the rate' }).click();
    await page.locator('#details').getByText('7 contacts a second').waitFor();

    const cancel = page.locator('#progress details', { hasText: 'Cancel...' });
    await cancel.getByText('Cancel...').click();
    await cancel.getByLabel('Why').fill('a mistake in the text');
    await cancel.getByRole('button', { name: 'Cancel the batch' }).click();
    await page.locator('#progress .tag', { hasText: 'cancelled' }).waitFor();
    await page.goto('/audit');
    await page.getByRole('cell', { name: 'a mistake in the text' }).waitFor();
  });

  it('decides on what a filter selects, and on one notice, and finds it in the audit', async () => {
    const watched = await startWatched(redis);
    const { emulator, queue } = watched.fleet;
    emulator.addFault({ on: 'send', times: 2, reset: 'after-acting' });
    for (const templateCode of ['LOST', 'OTHER']) {
      await queue.send({ templateCode, contacts: rows(1) }, { delivery: 'at-most-once' });
    }
    const { page } = await watched.look();
    await page.goto('/');
    // The count comes with the overview's own refresh.
    await page.locator('#jobs').getByRole('link', { name: '2', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Not accepted' }).waitFor();
    const decide = async (opens: string, as: RegExp, why: string) => {
      await page.getByText(opens).click();
      await page.getByRole('radio', { name: as }).check();
      await page.getByLabel('Why').fill(why);
      await page.getByRole('button', { name: 'Decide' }).click();
    };
    await page.getByLabel('Template').fill('LOST');
    await page.getByRole('button', { name: 'Filter' }).click();
    await decide('Decide on all with ECONNRESET...', /^discard/, 'obsolete');
    await page.getByText('1 contact given up.').waitFor();
    await page.getByRole('link', { name: 'Show all' }).click();
    await page.getByRole('cell', { name: 'OTHER' }).waitFor();
    expect(await page.getByRole('cell', { name: 'LOST' }).count()).toBe(0);
    await page.locator('#failed').getByRole('link', { name: /^n-/ }).click();
    await decide('Decide on this notice...', /^accepted/, 'seen in the console of the service');
    await page.getByText('1 contact settled as accepted.').waitFor();
    await page.goto('/audit');
    const entry = page.getByRole('row', { name: /seen in the console of the service/ });
    expect(await entry.textContent()).toMatch(/otto[\s\S]*decide[\s\S]*accepted/);
    expect(emulator.record().contacts).toBe(2);
  });

  it('sends what was refused again, and sees it accepted', async () => {
    const watched = await startWatched(redis);
    const { emulator, queue } = watched.fleet;
    emulator.addFault({ on: 'send', times: 2, status: 400, code: 'INVALID_TEMPLATE' });
    const { batch } = await queue.import(rows(5), { templateCode: 'WRONG', chunkSize: 1 });
    const { page } = await watched.look();
    await page.goto(`/batches/${batch}`);
    await page.locator('#progress .tag', { hasText: 'finished' }).waitFor();
    const failures = page.locator('#failures');
    await failures.getByRole('row', { name: /INVALID_TEMPLATE/ }).waitFor();
    await failures.getByText('Decide on 2 contacts...').click();
    await failures.getByRole('radio', { name: /^resend/ }).check();
    await failures.getByLabel('Why').fill('the template was mended');
    await failures.getByRole('button', { name: 'Decide' }).click();
    await page.getByRole('status').filter({ hasText: '2 contacts will be sent again.' }).waitFor();
    await failures.getByText('Nothing so far.').waitFor();
    await page.locator('#progress .tag', { hasText: 'finished' }).waitFor();
    expect(emulator.record().contacts).toBe(5);
  });

  it('sees what waits, cancels it, and holds a template', async () => {
    const watched = await startWatched(redis, { processes: 0 });
    const { notices } = watched.ops.context;
    for (const [templateCode, count] of [
      ['BUG', 3],
      ['NEWS', 2],
    ] as const) {
      for (const row of rows(count)) await notices.send({ templateCode, contacts: [row] });
    }
    const { page } = await watched.look();
    await page.goto('/waiting');
    const card = page.locator('#waiting');
    await card.getByText('5 notices, 5 contacts.').waitFor();
    await card.getByText('Cancel...').first().click();
    await card.getByLabel('Why').first().fill('enqueued by a bug');
    await card.getByRole('button', { name: 'Cancel 3 notices' }).click();
    const said = page.getByRole('status').filter({ hasText: '3 notices (3 contacts) cancelled' });
    await said.waitFor();
    await card.getByText('2 notices, 2 contacts.').waitFor();
    await card.getByText('Hold the template...').click();
    await card.getByLabel('Why').nth(1).fill('the text is wrong');
    await card.getByRole('button', { name: 'Hold the template' }).click();
    await card.getByText('held', { exact: true }).waitFor();
    // It is said once.
    await page.reload();
    expect(await page.getByText('is on hold').count()).toBe(0);
  });

  it('sees how far an action on many is that takes longer than one request, and stops it', async () => {
    const watched = await startWatched(redis, { processes: 0 });
    const { notices } = watched.ops.context;
    for (const row of rows(60)) await notices.send({ templateCode: 'BUG', contacts: [row] });
    const { page } = await watched.look();
    await page.goto('/waiting');
    const card = page.locator('#waiting');
    await card.getByText('Cancel...').click();
    // One request ends after twenty seconds; the action would take a minute.
    await card
      .locator('form')
      .first()
      .evaluate((form) => {
        const rate = Object.assign(document.createElement('input'), { name: 'rate', value: '1' });
        form.append(rate);
      });
    await card.getByLabel('Why').first().fill('enqueued by a bug');
    await card.getByRole('button', { name: 'Cancel 60 notices' }).click();
    await card.getByText('0 done so far.', { exact: true }).waitFor();
    await card.getByText(/^[1-9]\d* done so far\.$/).waitFor();
    await picture(page, 'in-parts');
    await card.getByRole('button', { name: 'Stop' }).click();
    const end = card.getByText(/^\d+ done; not all that match were tried\.$/);
    await end.waitFor();
    const done = Number.parseInt((await end.textContent()) ?? '', 10);
    expect(done).toBeGreaterThan(20);
    expect(done).toBeLessThan(60);
  });

  it('sets the notices of an old copy of Redis aside, and stops a list of it', async () => {
    const watched = await startWatched(redis, { processes: 0 });
    const { notices, keys } = watched.ops.context;
    await notices.send({ templateCode: 'OLD', contacts: rows(1) });
    await notices.import(rows(3), { templateCode: 'OLD', batchId: 'old' });
    const at = Date.now();
    const event = { event: 'e', eventAt: at, why: 'gap', copyAt: at - 60_000, missingMs: 60_000 };
    const epoch = { id: 'one', bornAt: at, beats: 1, at, verdict: 'held', ...event };
    await redis.client.hset(keys.epoch, epoch);
    await redis.client.hset(
      keys.hold,
      'queue',
      JSON.stringify({ kind: 'restored', code: 'gap', since: at }),
    );
    const { page } = await watched.look();
    await page.goto('/');
    await page.getByRole('link', { name: 'what might be sent again' }).click();
    await page.getByText('1 contact in 1 job').first().waitFor();
    await picture(page, 'restored');
    await page.getByText('Set the single notices aside...').click();
    await page.getByLabel('Why').first().fill('the copy is of yesterday');
    await page.getByRole('button', { name: 'Set them aside' }).click();
    await page.getByText('1 contact in 1 job set aside').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.locator('#restored .tag', { hasText: 'paused' }).waitFor();
    expect((await watched.ops.context.ledger.read('old'))?.phase).toBe('paused');
  });

  it('finds what became of a number, which is in no address', async () => {
    const watched = await startWatched(redis);
    const { notices } = watched.ops.context;
    const [number = ''] = numbers(1, 77);
    const { id } = await notices.send({
      templateCode: 'LOOKED_FOR',
      contacts: [{ contact: number, var1: 'x' }],
    });
    const { page } = await watched.look('vera');
    await page.goto('/');
    await page.getByRole('navigation').getByRole('link', { name: 'Find' }).click();
    const find = async (text: string) => {
      await page.getByLabel('Phone number').fill(text);
      await page.getByRole('button', { name: 'Find' }).click();
    };
    await find(number.replace(/^(...)(....)/, '$1-$2-'));
    const found = page.getByRole('row', { name: new RegExp(id) });
    expect(await found.textContent()).toMatch(/pending|accepted/);
    expect(await found.textContent()).toContain('LOOKED_FOR');
    expect(page.url()).toBe(`${watched.ops.url}/find`);
    expect(await page.content()).not.toContain(number);
    expect(await page.getByLabel('Phone number').inputValue()).toBe('');
    await find(number.replace(/^0/, '9'));
    await page.getByText('Nothing was found.').waitFor();
  });

  it('sets the rate limit, and returns to the configured one', async () => {
    const watched = await startWatched(redis, { processes: 0 });
    const { page } = await watched.look();
    await page.goto('/');
    const section = page.locator('#rate-limit');
    const set = async (limit: string, why: string) => {
      await section.getByText('Set a rate limit...').click();
      await section.getByLabel('Requests per second').fill(limit);
      await section.getByLabel('Why').fill(why);
      await section.getByRole('button', { name: 'Set the rate limit' }).click();
    };
    await set('25', 'campaign at noon');
    await section.getByText('25 requests per second, instead').waitFor();
    await set('default', 'the campaign is over');
    await section.getByText('No limit is set.').waitFor();
    await page.goto('/audit');
    const entry = page.getByRole('row', { name: /campaign at noon/ });
    expect(await entry.textContent()).toMatch(/otto[\s\S]*rate-limit[\s\S]*25/);
  });
});

describe('by keyboard alone', () => {
  it('the content is one step away, and the queue can be held and let go', async () => {
    const watched = await startWatched(redis, { processes: 0 });
    const { page } = await watched.look();
    const other = await watched.look();
    await other.page.goto('/batches');
    await page.goto('/');
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').textContent()).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    await page.locator('main:focus').waitFor();

    const actByKeys = async (ask: string, why: string, act: string) => {
      await tabTo(ask);
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      await page.keyboard.type(why);
      await page.keyboard.press('Tab');
      expect(await page.locator(':focus').textContent()).toBe(act);
      await page.keyboard.press('Enter');
    };
    const tabTo = async (text: string) => {
      for (let presses = 0; presses < 20; presses += 1) {
        await page.keyboard.press('Tab');
        if ((await page.locator(':focus').textContent()) === text) return;
      }
      throw new Error(`${text} is not reached with Tab`);
    };
    await actByKeys('Hold the queue...', 'the text is wrong', 'Hold the queue');
    await headline(page, 'Held: manual');
    await page.locator('#state').getByText('the text is wrong').waitFor();
    const title = (expected: RegExp) =>
      until(async () => expected.test(await other.page.title()), {
        what: `the title ${expected.source} of the other tab`,
        deadlineMs: PATIENCE_MS,
      });
    await title(/^Held: manual - Batches/);
    await actByKeys('Lift the hold...', 'mended', 'Lift the hold');
    await headline(page, 'No worker');
    await title(/^Batches/);
  });
});
