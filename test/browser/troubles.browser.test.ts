import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startRedisServer } from '../../scripts/redis/redis-server.ts';
import { run } from '../cli/support/run.ts';
import { numbers } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { headline, isSamePage, markPage } from './support/read-page.ts';
import { startOps } from '../ops/web/support/ops-bench.ts';
import { LOOKS, PATIENCE_MS, picture, visit } from './support/visit.ts';
import { rows, startWatched, type Watched } from './support/watched.ts';

/*
 * What an engineer on call sees of a trouble: what is wrong, whose fault it is, what to type. Pictures of each are in
 * test-output/pages.
 */

const redis = testRedis();
/** Takes pictures of a page that shows what it shows to those alone who have it open. */
async function picturesOf(page: Page, name: string): Promise<void> {
  for (const [look, { colorScheme = 'light', viewport }] of LOOKS) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport ?? { width: 1_280, height: 720 });
    await picture(page, `trouble-${name}-${look}`);
  }
}

/** Looks at the overview in each way; the first action of a phone is within its first two screens. */
async function pictures(watched: Watched, name: string): Promise<void> {
  for (const [look, options] of LOOKS) {
    const { page } = await watched.look('otto', options);
    await page.goto('/');
    await page.locator('#state').waitFor();
    await picture(page, `trouble-${name}-${look}`);
    // What is live may be replaced between two questions.
    const bottom = await page.evaluate(
      () => document.querySelector('.acts')?.getBoundingClientRect().bottom,
    );
    expect(bottom).toBeLessThan(2 * 812);
    await page.close();
  }
}

const state = (page: Page) => page.locator('#state');

interface Trouble {
  readonly plant: (watched: Watched) => Promise<unknown>;
  readonly title: string;
  readonly code?: string;
  readonly fault: string;
  readonly command: string;
  /** How soon the first screen says so. */
  readonly withinMs?: number;
}

const TROUBLES: Readonly<Record<string, Trouble>> = {
  'wrong-keys': {
    plant: ({ fleet }) => {
      fleet.emulator.setApp({ accessKey: 'emulator-access-key', secretKey: 'another' });
      return fleet.sendEach(numbers(3));
    },
    title: 'Held: credentials',
    code: 'INVALID_ACCESS_KEY',
    fault: 'our configuration',
    command: 'notices doctor',
  },
  'no-credit': {
    plant: ({ fleet }) => {
      fleet.emulator.addFault({ on: 'send', status: 402 });
      return fleet.sendEach(numbers(3));
    },
    title: 'Held: credit',
    code: 'HTTP_402',
    fault: 'a person',
    command: 'notices hold lift',
  },
  'service-gone': {
    plant: async ({ fleet }) => {
      await fleet.emulator.close();
      await fleet.sendEach(numbers(5));
    },
    title: 'Held: token-unavailable',
    code: 'SERVICE_UNREACHABLE',
    fault: 'the network',
    command: 'notices doctor',
    // A connection is tried for ten seconds before a token counts as unavailable.
    withinMs: 15_000,
  },
  'outage-of-two': {
    plant: ({ fleet }) => {
      fleet.emulator.addFault({ on: 'send', status: 503 });
      return fleet.sendEach(numbers(2));
    },
    title: 'next attempt: HTTP_503',
    fault: 'the service',
    command: 'notices failures --state unknown',
  },
  outage: {
    plant: ({ fleet }) => {
      fleet.emulator.addFault({ on: 'send', status: 503 });
      return fleet.sendEach(numbers(100));
    },
    title: 'Held: failing',
    code: 'HTTP_503',
    fault: 'the service',
    command: 'notices failures --state unknown',
  },
  redirect: {
    plant: ({ fleet }) => {
      fleet.emulator.addFault({ on: 'send', status: 302, headers: { location: '/sign-in' } });
      return fleet.sendEach(numbers(40));
    },
    title: 'Held: address',
    code: 'HTTP_302',
    fault: 'our configuration',
    command: 'notices doctor',
  },
  'held-by-a-person': {
    plant: ({ fleet }) => run(['hold', 'place', '--why', 'the text is checked'], fleet.env),
    title: 'Held: manual',
    fault: 'a person',
    command: 'notices hold lift',
  },
  'unknown-outcomes': {
    plant: ({ fleet }) => {
      fleet.emulator.addFault({ on: 'send', reset: 'after-acting', times: 2 });
      return fleet.sendEach(numbers(2), { delivery: 'at-most-once' });
    },
    title: '2 unknown outcomes to decide',
    fault: 'a person',
    command: 'notices failures --state unknown',
  },
  'killed-worker': {
    plant: ({ fleet }) => {
      fleet.workers[0]?.kill('SIGKILL');
      return fleet.sendEach(numbers(2));
    },
    title: 'No worker',
    fault: 'our configuration',
    command: 'notices worker',
    withinMs: 10_000,
  },
};

describe('an engineer on call', () => {
  it.each(Object.entries(TROUBLES))(
    'reads what is wrong, whose fault it is, and what to type: %s',
    async (name, trouble) => {
      const { plant, title, code = '', fault, command, withinMs = 5_000 } = trouble;
      const watched = await startWatched(redis);
      const { page } = await watched.look();
      await page.goto('/');
      await headline(page, 'Idle');
      const startedAt = performance.now();
      await plant(watched);
      await headline(page, title);
      expect(performance.now() - startedAt).toBeLessThan(withinMs);
      for (const text of [fault, command])
        await state(page).getByText(text, { exact: true }).waitFor();
      expect(await state(page).innerText()).toContain(code);
      await pictures(watched, name);
      const words = command.split(' ').slice(1);
      const { code: ended } = await run(
        words[0] === 'worker' ? [...words, '--help'] : words,
        watched.fleet.env,
      );
      // 2: it is no command, or lacks something.
      expect(ended).not.toBe(2);
    },
  );

  it('reads of a list that was rejected throughout, its code, and that it is not the service', async () => {
    const watched = await startWatched(redis, { emulator: { unknownTemplates: ['GONE'] } });
    const { queue } = watched.fleet;
    const { page } = await watched.look();
    await page.goto('/');
    await headline(page, 'Idle');
    await queue.import(rows(30), { templateCode: 'GONE', batchId: 'wrongtpl', chunkSize: 10 });
    await headline(page, 'List wrongtpl: all 30 rejected, TEMPLATE_NOT_FOUND');
    await state(page).getByText('the template', { exact: true }).waitFor();
    await state(page).getByText('notices failures wrongtpl').waitFor();
    await until(async () => (await page.title()).startsWith('List wrongtpl'), {
      what: 'the title of the tab',
      deadlineMs: PATIENCE_MS,
    });
    await pictures(watched, 'refused-list');
    await state(page).getByRole('link', { name: 'what it means' }).click();
    await page.getByRole('heading', { name: 'batch.refused' }).waitFor();
    expect(new URL(page.url()).hash).toBe('#batchrefused');
    await page.goto('/');
    await state(page).getByRole('link', { name: 'wrongtpl' }).click();
    await page.getByRole('cell', { name: 'TEMPLATE_NOT_FOUND' }).waitFor();
  });

  it('reads that a list has paused itself after dozens of equal refusals', async () => {
    const watched = await startWatched(redis, { emulator: { unknownTemplates: ['GONE'] } });
    await watched.fleet.queue.import(rows(600), {
      templateCode: 'GONE',
      batchId: 'long',
      chunkSize: 1,
    });
    const { page } = await watched.look();
    await page.goto('/');
    await headline(page, 'Template GONE is held, TEMPLATE_NOT_FOUND');
    await state(page).getByText('List long has paused itself').waitFor();
    await pictures(watched, 'held-template');
    await page.goto('/batches/long');
    const why = page.getByText('Not sending: its template is held (TEMPLATE_NOT_FOUND)');
    await why.waitFor();
    expect(await why.innerText()).toContain('check the template at the service');
  });

  it('reads until when a 429 pauses, and that there is nothing to do', async () => {
    const watched = await startWatched(redis);
    watched.fleet.emulator.addFault({ on: 'send', status: 429, retryAfter: 60 });
    await watched.fleet.sendEach(numbers(40));
    const { page } = await watched.look();
    await page.goto('/');
    await headline(page, 'Paused because the service asked; resumes in');
    await state(page).getByText('Nothing to do').waitFor();
    const card = page.locator('#rate-limit');
    expect(await card.innerText()).toMatch(/Paused because the service asked; resumes/);
    expect(await card.innerText()).not.toMatch(/In force|from 0|at 0/);
    expect(await state(page).getAttribute('class')).toContain('warn');
    await pictures(watched, 'throttled');
  });

  it('reads of the first send within seconds, and of no rate beside Idle', async () => {
    const watched = await startWatched(redis, { emulator: { latencyMs: 5 } });
    const { page } = await watched.look('vera');
    await page.goto('/');
    await headline(page, 'Idle');
    await markPage(page);
    const stop = new AbortController();
    const sending = (async () => {
      for (let from = 0; !stop.signal.aborted; from += 15)
        await watched.fleet.sendEach(numbers(15, from));
    })();
    const startedAt = performance.now();
    await headline(page, 'Sending');
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    await state(page).getByText('contacts per second are being sent').waitFor();
    stop.abort();
    await sending;
    await headline(page, 'Idle');
    const tile = page.locator('#jobs dl > div', { hasText: 'contacts per second' });
    await until(async () => (await tile.locator('dd').innerText()) === '0', {
      what: 'the rate to be that of the headline',
      deadlineMs: 4_000,
    });
    expect(await isSamePage(page)).toBe(true);
  });

  it('sees what is stale in grey with its time, while Redis is away, and the page heal itself', async () => {
    const server = await startRedisServer({ persistence: true });
    onTestFinished(() => server.close());
    const ops = await startOps(server.url, 'away');
    const cookie = ops.cookie('vera', Date.now());
    const { page, forgive } = await visit(ops.url, { cookie });
    const arriving = await visit(ops.url, { cookie });
    for (const one of [forgive, arriving.forgive]) one(/status of 503/);
    await page.goto('/');
    await headline(page, 'No worker');
    await markPage(page);
    await server.kill('SIGTERM');
    await headline(page, 'Redis is away');
    await state(page)
      .getByText(/^Last known at .*: No worker/)
      .waitFor();
    await arriving.page.goto('/batches');
    await arriving.page.getByRole('heading', { name: 'Redis is away' }).waitFor();
    expect(await page.title()).toMatch(/^Redis is away - /);
    expect(await page.locator('#said').innerText()).toBe('Redis is away');
    const opacity = await page
      .locator('#jobs')
      .evaluate((one) => Number(getComputedStyle(one).opacity));
    expect(opacity).toBeLessThan(1);
    expect(await state(page).innerText()).not.toContain('notices worker');
    await picturesOf(page, 'redis-away');
    await server.restart();
    await headline(page, 'No worker');
    await arriving.page.getByText('There are no batches.').waitFor();
    expect(await isSamePage(page)).toBe(true);
  });

  it('sees that an answer is cut short, and signs in anew where the session at a proxy has ended', async () => {
    const ops = await startOps(redis.url, redis.freshPrefix());
    let mode = 'passes';
    const proxy = createServer((request, response) => {
      const { url = '/', headers } = request;
      if (mode === 'cuts') response.writeHead(200, { 'content-length': 9_999 }).end('<p>');
      else if (mode === 'fails') response.writeHead(502).end('<title>Bad gateway</title>');
      else if (mode === 'redirects' && url === '/notices') {
        const { port } = proxy.address() as AddressInfo;
        response.writeHead(302, { location: `http://localhost:${port}/of-the-proxy` }).end();
      } else if (mode !== 'passes') response.end('<title>Sign in at the proxy</title>');
      else {
        const asked = { accept: headers.accept ?? '', cookie: headers.cookie ?? '' };
        void fetch(`${ops.url}${url}`, { headers: asked }).then(async (answer) => {
          const type = answer.headers.get('content-type') ?? '';
          response.writeHead(answer.status, { 'content-type': type }).end(await answer.text());
        });
      }
    });
    await new Promise<void>((listens) => proxy.listen(0, '127.0.0.1', listens));
    onTestFinished(() => void proxy.close());
    const { port } = proxy.address() as AddressInfo;
    const cookie = ops.cookie('vera', Date.now());
    const { page, forgive } = await visit(`http://127.0.0.1:${port}`, { cookie });
    for (const one of [
      /CONTENT_LENGTH_MISMATCH/,
      /elsewhere: http:\/\/localhost/,
      /status of 502/,
      /favicon/,
    ])
      forgive(one);
    const titled = async (title: RegExp) => {
      await expect.poll(() => page.title(), { timeout: PATIENCE_MS }).toMatch(title);
    };
    await page.goto('/notices');
    for (const broken of ['cuts', 'fails']) {
      mode = broken;
      await titled(/^Ops server away - /);
      await page.locator('#trouble', { hasText: 'retries by itself' }).waitFor();
      mode = 'passes';
      await titled(/^Not accepted - /);
    }
    for (const ended of ['shows its form', 'redirects']) {
      mode = 'passes';
      await page.goto('/notices');
      mode = ended;
      await titled(/^Sign in at the proxy$/);
    }
  });

  it('reads in which variable workers differ, and on which hosts', async () => {
    const watched = await startWatched(redis);
    const other = await watched.fleet.addWorker({ ATTEMPTS: '3', API_VERSION: 'v1' });
    const { page } = await watched.look('vera');
    await page.goto('/');
    await headline(page, 'Workers differ in API_VERSION, ATTEMPTS');
    await page.locator('#attention', { hasText: `(${other.pid})` }).waitFor();
    expect(await state(page).innerText()).toContain('our configuration');
    await pictures(watched, 'differing');
  });

  it('sees times in the zone of the browser, and UTC beside them', async () => {
    const watched = await startWatched(redis);
    const { page } = await watched.look('vera', { timezoneId: 'Asia/Seoul' });
    await page.goto('/');
    const time = page.locator('#workers time').first();
    const exact = (await time.getAttribute('title')) ?? '';
    const local = new Date(new Date(exact).getTime() + 9 * 3_600_000).toISOString().slice(11, 16);
    expect(await time.innerText()).toContain(`${local} GMT+9`);
    // What is typed into a filter is in the same zone.
    await page.goto('/batches?phase=sending');
    for (const typed of ['2026-01-31T09:30', '2026-01-31T09:30:15']) {
      const since = page.getByLabel('Created since', { exact: true });
      await since.fill(typed);
      await since.press('Enter');
      const zoned = `${typed}+09:00`;
      await page.waitForURL((url) => url.searchParams.get('since') === zoned);
    }
  });
});
