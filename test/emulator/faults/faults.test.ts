import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { Emulator } from '../../../src/emulator/emulator.ts';
import type { Fault } from '../../../src/emulator/faults/fault.ts';
import { basic, call, noticeTo, sendWith, tokenOf, verdict, type WireCall } from '../calls.ts';
import { until } from '../../support/wait.ts';
import { emulatorWith } from '../running.ts';

/** A live token, then a fault, then a send. */
async function struck(fault: Fault, wire: WireCall = {}) {
  const emulator = await emulatorWith();
  const token = await tokenOf(emulator);
  emulator.addFault(fault);
  const sent = sendWith(emulator, token, noticeTo('1'), wire);
  return { emulator, token, sent };
}

/** What a socket saw: the bytes until it ended, or the code of its error. */
function rawSend(emulator: Emulator, head: string): Promise<string> {
  return new Promise((resolve) => {
    let seen = '';
    const socket = connect({ host: '127.0.0.1', port: emulator.port, noDelay: true });
    socket.on('data', (bytes) => {
      seen += bytes.toString('latin1');
    });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
    socket.on('close', () => resolve(seen));
    socket.write(head);
  });
}

const accepted = (emulator: Emulator) => emulator.record().contacts;

describe('a status in place of the answer', () => {
  test.each<[string, Fault, object, number]>([
    ['after acting', { on: 'send', status: 500, afterActing: true }, { status: 500, text: '' }, 1],
    [
      'a page that leads elsewhere',
      {
        on: 'send',
        status: 302,
        bodyText: '<h1>',
        headers: { Location: 'http://x/' },
        retryAfter: 7,
      },
      { status: 302, text: '<h1>', headers: { location: 'http://x/', 'retry-after': '7' } },
      0,
    ],
  ])('%s', async (_name, fault, answer, acted) => {
    const { emulator, sent } = await struck(fault);
    expect(await sent).toMatchObject(answer);
    expect(accepted(emulator)).toBe(acted);
  });

  test('an error body with a code', async () => {
    const { sent } = await struck({ on: 'send', status: 402, code: 'NO_CREDIT' });
    expect(verdict(await sent)).toBe('402 NO_CREDIT');
  });
});

describe('a connection that breaks', () => {
  test.each([
    ['before-read', 0],
    ['after-read', 0],
    ['after-acting', 1],
  ] as const)('reset %s: ECONNRESET, %i accepted', async (reset, expected) => {
    const { emulator, token, sent } = await struck({ on: 'send', reset, times: 1 });
    await expect(sent).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(accepted(emulator)).toBe(expected);
    expect((await sendWith(emulator, token)).status).toBe(200);
  });

  test('reset before-read does not wait for the body, after-read does', async () => {
    const emulator = await emulatorWith();
    const head = 'POST /api/v2/notices/send HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n';
    emulator.addFault({ on: 'send', reset: 'before-read', times: 1 });
    expect(await rawSend(emulator, head)).toBe('ECONNRESET');
    emulator.addFault({ on: 'send', reset: 'after-read', times: 1 });
    expect(await rawSend(emulator, `${head}123456789`)).toBe('ECONNRESET');
  });

  test.each([
    ['before-acting', 0],
    ['after-acting', 1],
  ] as const)('hang %s: no answer ever, %i accepted', async (hang, expected) => {
    const caller = new AbortController();
    const { emulator, sent } = await struck({ on: 'send', hang }, { signal: caller.signal });
    const ended = sent.catch((error: unknown) => error);
    await until(() => emulator.faults()[0]?.fired === 1, { what: 'the call' });
    await until(() => accepted(emulator) === expected, { what: 'the act' });
    // Others are answered meanwhile.
    for (let others = 0; others < 20; others++) await tokenOf(emulator);
    caller.abort();
    expect(await ended).toMatchObject({ name: 'AbortError' });
    expect(accepted(emulator)).toBe(expected);
  });

  test('garbage: bytes that are not HTTP', async () => {
    const { emulator, sent } = await struck({ on: 'send', garbage: '\u0000not HTTP' });
    await expect(sent).rejects.toMatchObject({
      code: expect.stringMatching(/^HPE_/) as unknown,
    });
    expect(accepted(emulator)).toBe(0);
    const head = 'POST /api/v2/notices/send HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n';
    expect(await rawSend(emulator, head)).toBe('\u0000not HTTP');
  });

  test.each([0, 10, 1_000_000])('truncate: a body cut after at most %i bytes', async (truncate) => {
    const { emulator, sent } = await struck({ on: 'send', truncate });
    await expect(sent).rejects.toMatchObject({ code: 'ECONNRESET', message: 'aborted' });
    expect(accepted(emulator)).toBe(1);
  });
});

describe('a body that is slow or huge', () => {
  test('slow: the real answer, in pieces', async () => {
    const { emulator, sent } = await struck({ on: 'send', slowBody: { bytes: 20, everyMs: 5 } });
    const started = performance.now();
    expect(verdict(await sent)).toBe('200 SUCCESS');
    expect(performance.now() - started).toBeGreaterThan(15);
    expect(accepted(emulator)).toBe(1);
  });

  test('huge: padded to the size that was asked, still JSON', async () => {
    const { sent } = await struck({ on: 'send', hugeBody: 3_000_000 });
    const answer = await sent;
    expect(answer.text).toHaveLength(3_000_000);
    expect(verdict(answer)).toBe('200 SUCCESS');
  });
});

describe('latency', () => {
  test('of a fault: the call acts on arrival, the answer comes later', async () => {
    const { emulator, sent } = await struck({ on: 'send', latencyMs: 120 });
    const started = performance.now();
    await expect.poll(() => accepted(emulator), { interval: 5 }).toBe(1);
    expect((await sent).status).toBe(200);
    expect(performance.now() - started).toBeGreaterThan(100);
  });

  test('of the emulator: every call of the service, and no control request', async () => {
    const started = performance.now();
    await tokenOf(await emulatorWith({ latencyMs: 60 }));
    expect(performance.now() - started).toBeGreaterThan(55);
    const emulator = await emulatorWith({ latencyMs: 3_600_000 });
    const answer = await call(emulator, '/control/record', {
      method: 'GET',
      signal: AbortSignal.timeout(10_000),
    });
    expect(answer.status).toBe(200);
  });
});

describe('which calls a fault strikes', () => {
  test('the next K calls, then it is spent', async () => {
    const { emulator, token, sent } = await struck({ on: 'send', status: 503, times: 2 });
    const statuses = [(await sent).status];
    for (let more = 0; more < 2; more += 1) {
      statuses.push((await sendWith(emulator, token)).status);
    }
    expect(statuses).toEqual([503, 503, 200]);
    expect(emulator.faults()).toMatchObject([{ fired: 2, spent: true }]);
  });

  test('the endpoint it names, on either version', async () => {
    const emulator = await emulatorWith();
    emulator.addFault({ on: 'token', status: 503 });
    const token = emulator.issueForeign().value;
    expect((await sendWith(emulator, token)).status).toBe(200);
    for (const path of ['/api/v1/token', '/api/v2/token']) {
      expect((await call(emulator, path, { headers: basic() })).status).toBe(503);
    }
    emulator.clearFaults();
    emulator.addFault({ on: 'any', status: 500 });
    expect((await sendWith(emulator, token)).status).toBe(500);
    expect((await call(emulator, '/api/v2/token', { headers: basic() })).status).toBe(500);
  });

  test('a share of the calls, the same ones for the same seed', async () => {
    const pattern = async (seed: number) => {
      const emulator = await emulatorWith();
      const token = await tokenOf(emulator);
      emulator.addFault({ on: 'send', status: 503, rate: 0.3, seed });
      const statuses: number[] = [];
      for (let sent = 0; sent < 60; sent += 1) {
        statuses.push((await sendWith(emulator, token)).status);
      }
      return statuses;
    };
    const first = await pattern(7);
    expect(await pattern(7)).toEqual(first);
    expect(await pattern(8)).not.toEqual(first);
    const share = first.filter((status) => status === 503).length / first.length;
    expect(share).toBeGreaterThan(0.1);
    expect(share).toBeLessThan(0.5);
  });
});
