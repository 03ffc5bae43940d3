import { describe, expect, it } from 'vitest';
import type { Fault } from '../../src/emulator/faults/fault.ts';
import { keysOf, QUEUE_NAME } from '../../src/redis/keys.ts';
import { openBullQueue } from '../../src/redis/open-queue.ts';
import { base64, basic, bearer, call, data, verdict } from '../emulator/calls.ts';
import { emulatorWith } from '../emulator/running.ts';
import { until } from '../support/wait.ts';
import { acceptedNumbers, room } from './support/line.ts';
import { FIRST, FULL_NOTICE, noticeTo, SECOND } from './support/notices.ts';
import { wireTo } from './support/wire.ts';

const { line, client, redis } = room();

describe('POST {base_url}/api/v2/token', () => {
  it('[token-purpose] [token-method-path] [token-request-header] [token-request-body] [auth-step-1] [token-same-for-versions] an issuance is a POST with the Basic header and no body, for both versions, whatever the secret holds', async () => {
    const pair = { accessKey: 'access', secretKey: 'with:colon and ~space' };
    const emulator = await emulatorWith({ ...pair, tokenMode: 'many' });
    const wire = await wireTo(emulator);
    const env = { ACCESS_KEY: pair.accessKey, SECRET_KEY: pair.secretKey };
    const tokens = [];
    for (const API_VERSION of ['v1', 'v2']) {
      tokens.push((await client(wire.url, { ...env, API_VERSION }).issueToken()).value);
    }
    expect(wire.summary()).toEqual(['POST /api/v2/token 200', 'POST /api/v2/token 200']);
    for (const { headers, body } of wire.calls) {
      expect(headers.authorization).toBe(`Basic ${base64('access:with:colon and ~space')}`);
      expect(body).toBe('');
      expect(headers).not.toHaveProperty('content-type');
    }
    const body = JSON.stringify(FULL_NOTICE);
    const type = { 'content-type': 'application/json' };
    for (const token of tokens) {
      for (const [path, value] of [
        ['/api/v1/notices/send', base64(token)],
        ['/api/v2/notices/send', token],
      ] as const) {
        const headers = { ...type, authorization: `Bearer ${value}` };
        expect((await call(emulator, path, { headers, body })).status).toBe(200);
      }
    }
  });

  it('[token-success-body] data.token is the token; other fields of the answer do not matter', async () => {
    const emulator = await emulatorWith();
    const answer = await call(emulator, '/api/v2/token', { headers: basic() });
    expect(data(answer)).toEqual({ token: expect.any(String) as unknown });
    const more = { code: 'OK', data: { token: 'the-token', type: 'Bearer', scope: ['send'] } };
    emulator.addFault({ on: 'token', times: 1, status: 201, body: more });
    const issued = await client(emulator.url).issueToken();
    expect(issued.value).toBe('the-token');
    emulator.addFault({ on: 'token', status: 200, body: { token: 'at-the-wrong-place' } });
    await expect(client(emulator.url).issueToken()).rejects.toMatchObject({
      code: 'TOKEN_INVALID',
    });
  });
});

describe('POST {base_url}/api/v2/notices/send', () => {
  it('[send-request-headers] [auth-step-2] [auth-rule-2] the emulator demands both headers, the Bearer scheme and a token as issued', async () => {
    const emulator = await emulatorWith();
    const { value } = await client(emulator.url).issueToken();
    const body = JSON.stringify(FULL_NOTICE);
    const type = { 'content-type': 'application/json' };
    const send = (headers: Record<string, string>) =>
      call(emulator, '/api/v2/notices/send', { headers, body });
    expect((await send({ ...type, ...bearer(value) })).status).toBe(200);
    expect(verdict(await send(bearer(value)))).toBe('400 INVALID_CONTENT_TYPE');
    for (const headers of [
      {},
      basic(),
      bearer('never-issued'),
      bearer(base64(value)),
      { authorization: value },
    ]) {
      expect(verdict(await send({ ...type, ...headers }))).toBe('401 INVALID_ACCESS_KEY');
    }
  });

  it('[not-shown-send-success-body] [not-shown-sent-notice] any 2xx that is no page is accepted once; nothing of its body is needed or kept', async () => {
    const emulator = await emulatorWith();
    const bodies: readonly [Omit<Fault, 'on'>, confirmed: boolean][] = [
      [{ status: 200, body: { noticeId: 'secret-of-the-service', list: [1] } }, true],
      [{ status: 202, body: [] }, true],
      [{ status: 204 }, true],
      [{ status: 200, bodyText: 'OK' }, false],
      [{ status: 200, body: { cut: 'off in the middle' }, truncate: 9 }, false],
    ];
    const { deliver, prefix, stored } = await line(emulator.url);
    for (const [index, [fault, confirmed]] of bodies.entries()) {
      emulator.addFault({ on: 'send', times: 1, afterActing: true, ...fault });
      const sent = await deliver(noticeTo(`0100000001${index}`));
      const seen = { fault, outcome: sent['outcome'], confirmed: sent['confirmed'] };
      expect(seen).toEqual({ fault, outcome: 'accepted', confirmed });
    }
    expect(emulator.record()).toMatchObject({ distinct: bodies.length, twice: 0 });

    const board = openBullQueue(
      QUEUE_NAME,
      redis.connect({ name: 'board' }),
      keysOf(prefix, 'default'),
    );
    const done = await until(
      async () => {
        const jobs = await board.getJobs(['completed']);
        return jobs.length === bodies.length && jobs;
      },
      { what: 'all jobs done' },
    );
    const results = done.map(({ returnvalue }) => Object.keys(returnvalue as object).sort());
    expect(results).toEqual(bodies.map(() => ['confirmed', 'outcome']));
    expect(await stored()).not.toContain('secret-of-the-service');
    await board.close();
  });

  it('[not-shown-send-success-body] a page is not this API: nothing is counted as accepted, and the notice is sent again', async () => {
    const emulator = await emulatorWith();
    const page = { status: 200, bodyText: '<html><body>Welcome</body></html>' };
    emulator.addFault({ on: 'send', times: 1, ...page });
    const { deliver } = await line(emulator.url);
    expect(await deliver(noticeTo(SECOND))).toMatchObject({
      outcome: 'hold',
      code: 'HTML_ANSWER',
    });
    await until(() => acceptedNumbers(emulator).includes(SECOND), { what: 'the next attempt' });
  });

  it('[not-shown-other-endpoints] TOKEN_PATH and SEND_PATH lead elsewhere where the service does', async () => {
    const emulator = await emulatorWith();
    const wire = await wireTo(emulator, (path) => path.replace('/moved', '/api/v2'));
    const { deliver } = await line(wire.url, {
      TOKEN_PATH: '/moved/token',
      SEND_PATH: '/moved/notices/send',
    });
    expect(await deliver(noticeTo(FIRST))).toMatchObject({ outcome: 'accepted' });
    expect(wire.summary()).toEqual(['POST /moved/token 200', 'POST /moved/notices/send 200']);
  });
});
