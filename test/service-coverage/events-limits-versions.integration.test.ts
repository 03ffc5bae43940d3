import { describe, expect, it } from 'vitest';
import { base64 } from '../emulator/calls.ts';
import { emulatorWith } from '../emulator/running.ts';
import { until } from '../support/wait.ts';
import { acceptedNumbers, configOf, room } from './support/line.ts';
import { FIRST, noticeTo, SECOND } from './support/notices.ts';
import { wireTo } from './support/wire.ts';

const { line, wired, direct } = room();

describe('Events', () => {
  it('[not-shown-events] the answer is all that is known: where it is lost the outcome is unknown, and the next attempt may send twice', async () => {
    const { emulator, deliver, attempts } = await direct();
    emulator.addFault({ on: 'send', times: 1, reset: 'after-acting' });
    expect(await deliver(noticeTo(FIRST))).toMatchObject({ outcome: 'unknown', attempt: 1 });
    await until(() => attempts().length === 2, { what: 'the second attempt' });
    expect(attempts()[1]).toMatchObject({ outcome: 'accepted', attempt: 2 });
    expect(emulator.record()).toMatchObject({ distinct: 1, twice: 1 });
  });
});

describe('Limits', () => {
  it('[not-shown-rate-limits] CONCURRENCY bounds what is under way', async () => {
    const { emulator, wire, queue } = await wired({ CONCURRENCY: '3' }, { latencyMs: 30 });
    const notices = Array.from({ length: 12 }, (_, index) => noticeTo(`010000002${index + 10}`));
    await queue.sendMany(notices);
    await until(() => emulator.record().distinct === 12, { what: 'all sends' });
    expect(wire.mostAtOnce()).toBe(3);
  });

  it('[not-shown-rate-limits] a notice waits after a 429 as long as Retry-After asks, at most an hour, and no attempt is spent', async () => {
    const { emulator, deliver, attempts } = await direct({ RETRY_AFTER_MAX_MS: '1000' });
    emulator.addFault({ on: 'send', times: 1, status: 429, retryAfter: 3_600 });
    expect(await deliver(noticeTo(FIRST))).toMatchObject({ outcome: 'hold', hold: 'throttled' });
    await until(() => attempts().length === 2, { what: 'the next attempt' });
    const [first = NaN, second = NaN] = attempts().map(({ time }) => Number(time));
    expect(second - first).toBeGreaterThan(900);
    expect(acceptedNumbers(emulator)).toEqual([FIRST]);
    expect(attempts().map(({ attempt }) => attempt)).toEqual([1, 1]);
  });

  it('[not-shown-size-limits] a request that is too large is rejected for itself, and chunkSize makes those of lists smaller', async () => {
    const { emulator, wire, deliver, queue } = await wired();
    emulator.addFault({ on: 'send', times: 1, status: 413, bodyText: '<html>Too large</html>' });
    expect(await deliver(noticeTo(FIRST))).toMatchObject({ outcome: 'rejected', status: 413 });
    const { contacts: list, ...rest } = noticeTo(FIRST, SECOND);
    await queue.import(list, { ...rest, chunkSize: 1 });
    // The wire writes a call down after the emulator has.
    const taken = () =>
      wire.calls.filter(({ path, status }) => path.endsWith('/send') && status === 200);
    await until(() => taken().length >= 2, { what: 'both chunks' });
    expect(emulator.record().distinct).toBe(2);
    const contacts = taken().map(({ body }) => JSON.parse(body) as { contacts: unknown[] });
    expect(contacts.map((body) => body.contacts.length)).toEqual([1, 1]);
  });
});

describe('Versioning', () => {
  it('[version-v1-exists] [version-shared-token] workers of v1 and of v2 send on one token', async () => {
    const { emulator, wire, queue, addWorker } = await wired(
      { CONCURRENCY: '1' },
      { tokenMode: 'single' },
    );
    await addWorker({ API_VERSION: 'v1' });
    const numbers = Array.from({ length: 30 }, (_, index) => `010000003${index + 10}`);
    await queue.sendMany(numbers.map((number) => noticeTo(number)));
    await until(() => emulator.record().distinct === 30, { what: 'all sends' });
    const [v1] = wire.authorizations('/api/v1/notices');
    const [v2] = wire.authorizations('/api/v2/notices');
    expect(v1).toBe(`Bearer ${base64((v2 ?? '').replace('Bearer ', ''))}`);
    expect(emulator.record().tokens.issued).toBe(1);
  });

  it('[not-shown-v1-paths] SEND_PATH is the send path of v1, that of v2 with another number by default', async () => {
    const emulator = await emulatorWith();
    const wire = await wireTo(emulator, (path) =>
      path.replace('/old/send', '/api/v1/notices/send'),
    );
    const { deliver } = await line(wire.url, { API_VERSION: 'v1', SEND_PATH: '/old/send' });
    expect(await deliver(noticeTo(FIRST))).toMatchObject({ outcome: 'accepted' });
    expect(wire.summary().at(-1)).toBe('POST /old/send 200');
    const { sendPath } = configOf({ BASE_URL: emulator.url, API_VERSION: 'v1' }).service;
    expect(sendPath).toBe('/api/v1/notices/send');
  });

  it('[not-shown-other-versions] a version that is not known is refused at the start; a path of another one can be set', async () => {
    const emulator = await emulatorWith();
    expect(() => configOf({ BASE_URL: emulator.url, API_VERSION: 'v3' })).toThrow(
      /API_VERSION: .*v2, v1/,
    );
    const wire = await wireTo(emulator, (path) => path.replace('/api/v3/', '/api/v2/'));
    const { deliver } = await line(wire.url, { SEND_PATH: '/api/v3/notices/send' });
    expect(await deliver(noticeTo(FIRST))).toMatchObject({ outcome: 'accepted' });
  });

  it('[not-shown-deprecation] a path that is gone and answers with a page holds the template; a worker with the new path sends what waits', async () => {
    const emulator = await emulatorWith();
    const wire = await wireTo(emulator, (path) => path.replace('/next/', '/api/v2/notices/'));
    const page = { status: 410, bodyText: '<html>This version has ended</html>' };
    emulator.addFault({ on: 'send', ...page });
    const apart = { BACKOFF_BASE_MS: '300', BACKOFF_CAP_MS: '1000' };
    const { queue, templateHolds, restart } = await line(wire.url, apart);
    const more = Array.from({ length: 24 }, (_, n) => `01000000${100 + n}`);
    await queue.sendMany([FIRST, ...more].map((to) => noticeTo(to)));
    await until(async () => (await templateHolds())[0]?.kind === 'address', { what: 'the hold' });
    emulator.clearFaults();
    await restart({ SEND_PATH: '/next/send' });
    await until(() => wire.summary().at(-1) === 'POST /next/send 200', { what: 'the new path' });
    await until(() => acceptedNumbers(emulator).includes(FIRST), { what: 'what waits' });
    expect(wire.summary()).toContain('POST /next/send 200');
  });
});
