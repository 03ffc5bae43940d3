import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { CancelSignal, TokenSource } from '../../src/contracts/token.ts';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { decideOutcome } from '../../src/service/outcome-table.ts';
import { CANARY, FIRST, NOTICE, SECOND, openClient, tokensOf } from './support/client.ts';
import { httpServer, json } from './support/servers.ts';

const WITHIN = { deadlineMs: 8_000 };

/** The time of the call was over before its first request. */
const NOT_TRIED = {
  stage: 'not-sent',
  failure: 'aborted',
  failureCode: 'DEADLINE',
  requests: 0,
} as const;
const NOT_COUNTED = { kind: 'retry', code: 'ABORTED', counted: false } as const;

describe('a send request (service-api, POST {base_url}/api/v2/notices/send)', () => {
  it('carries bearer token, JSON and the notice as it is', async () => {
    const server = await httpServer((response) => json(response, 200, { ok: true }));
    const notice = { ...NOTICE, unknownField: [1, { deep: '값' }] };
    const answer = await openClient(server.url).send(notice, tokensOf(), WITHIN);

    expect(answer).toStrictEqual({
      stage: 'answered',
      status: 200,
      body: 'json',
      tokenId: FIRST.id,
      refused: [],
      requests: 1,
      answerMs: expect.any(Number) as number,
      durationMs: expect.any(Number) as number,
    });
    const [request] = server.requests;
    expect(request).toMatchObject({ method: 'POST', path: '/api/v2/notices/send' });
    expect(request?.body).toBe(JSON.stringify(notice));
    expect(request?.headers).toStrictEqual({
      host: server.url.slice('http://'.length),
      connection: 'keep-alive',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      'user-agent': 'notice-queue',
      authorization: `Bearer ${CANARY.token}`,
      'content-length': String(Buffer.byteLength(JSON.stringify(notice))),
    });
  });

  it('cannot leave the base address, whatever the path says', async () => {
    const elsewhere = await httpServer((response) => json(response, 200, {}));
    const server = await httpServer((response) => json(response, 200, {}));
    const client = openClient(server.url, { sendPath: `//127.0.0.1:${elsewhere.port}/x` });
    await client.send(NOTICE, tokensOf(), WITHIN);
    const absolute = openClient(server.url, { sendPath: `${elsewhere.url}/x` });
    const answer = await absolute.send(NOTICE, tokensOf(), WITHIN);
    expect(answer).toMatchObject({ stage: 'not-sent', failure: 'other' });
    expect(elsewhere.connections()).toBe(0);
  });

  it('goes on as many connections as configured, and no more', async () => {
    const server = await httpServer((response) => json(response, 200, {}));
    const client = openClient(server.url, { connections: 4 });
    const sends = Array.from({ length: 40 }, () => client.send(NOTICE, tokensOf(), WITHIN));
    for (const answer of await Promise.all(sends)) expect(answer.status).toBe(200);
    expect(server.requests).toHaveLength(40);
    expect(server.connections()).toBeLessThanOrEqual(4);
  });

  it('ignores the proxy variables of the environment', async () => {
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    const proxy = await httpServer((response) => json(response, 200, {}));
    const server = await httpServer((response) => json(response, 200, {}));
    for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']) {
      vi.stubEnv(name, proxy.url);
      vi.stubEnv(name.toLowerCase(), proxy.url);
    }
    const client = openClient(server.url);
    expect(await client.send(NOTICE, tokensOf(), WITHIN)).toMatchObject({ status: 200 });
    expect(proxy.connections()).toBe(0);
    expect(server.requests).toHaveLength(1);
  });
});

describe('a token that could not stand in a header', () => {
  it.each(['tok\nX-Evil: 1', 'tok\r\n\r\nPOST /', 'tökén', ''])(
    '%j: nothing is sent',
    async (value) => {
      const server = await httpServer((response) => json(response, 200, {}));
      for (const apiVersion of ['v1', 'v2'] as const) {
        const client = openClient(server.url, { apiVersion });
        const sending = client.send(NOTICE, tokensOf({ id: 'x', value }), WITHIN);
        await expect(sending).rejects.toMatchObject({ code: 'TOKEN_INVALID' });
      }
      expect(server.connections()).toBe(0);
    },
  );
});

describe.each([401, 403] as const)('a %i (service-api, Authentication rule 4)', (status) => {
  it('that comes again ends the call', async () => {
    const server = await httpServer((response) =>
      json(response, status, { code: 'TOKEN_EXPIRED' }),
    );
    const tokens = tokensOf();
    const answer = await openClient(server.url, { notSentRetries: 3 }).send(NOTICE, tokens, WITHIN);
    expect(server.requests).toHaveLength(2);
    expect(tokens.renewals).toHaveLength(1);
    expect(answer).toMatchObject({ stage: 'answered', status, code: 'TOKEN_EXPIRED', requests: 2 });
    expect(answer.refused).toStrictEqual([
      { tokenId: FIRST.id, status, code: 'TOKEN_EXPIRED' },
      { tokenId: SECOND.id, status, code: 'TOKEN_EXPIRED' },
    ]);
  });

  it('whose renewal fails passes the error of the token source through', async () => {
    const server = await httpServer((response) => json(response, status, {}));
    const failure = new NoticeQueueError('TOKEN_CONTESTED');
    const tokens: TokenSource = {
      get: () => Promise.resolve(FIRST),
      renew: () => Promise.reject(failure),
    };
    await expect(openClient(server.url).send(NOTICE, tokens, WITHIN)).rejects.toBe(failure);
    expect(server.requests).toHaveLength(1);
  });
});

describe('the token source', () => {
  it('throws something that is not ours: it does not leave', async () => {
    const leak = Object.assign(new Error(CANARY.token), { args: [CANARY.secretKey] });
    const tokens: TokenSource = {
      get: () => Promise.reject(leak),
      renew: () => Promise.reject(leak),
    };
    const error: unknown = await openClient('http://127.0.0.1:1')
      .send(NOTICE, tokens, WITHIN)
      .catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'TOKEN_UNAVAILABLE' });
    expect(String(error)).not.toContain(CANARY.token);
    expect((error as Error).cause).toBeUndefined();
  });
});

describe('the last check before a request', () => {
  const never = new AbortController().signal;

  it('takes longer than the deadline: nothing is sent, and nothing is known of the service', async () => {
    const server = await httpServer((response) => json(response, 200, {}));
    const check = (cancel: CancelSignal) =>
      new Promise<void>((resolve) => {
        cancel.addEventListener('abort', () => resolve());
      });
    const guard = { cancel: never, check, mayStart: () => true };
    const answer = await openClient(server.url).send(NOTICE, tokensOf(), {
      deadlineMs: 100,
      guard,
    });
    expect(answer).toMatchObject(NOT_TRIED);
    expect(decideOutcome(answer)).toEqual(NOT_COUNTED);
    expect(server.connections()).toBe(0);
  });

  it('takes longer than the deadline before the second request: the first refusal is not held against it', async () => {
    const server = await httpServer((response) => json(response, 401, { code: 'TOKEN_EXPIRED' }));
    let checks = 0;
    const check = () => {
      const end = performance.now() + (checks++ === 0 ? 0 : 300);
      // In a busy event loop no timer of the deadline fires.
      while (performance.now() < end);
      return Promise.resolve();
    };
    const guard = { cancel: never, check, mayStart: () => true };
    const answer = await openClient(server.url).send(NOTICE, tokensOf(), {
      deadlineMs: 300,
      guard,
    });
    expect(answer).toMatchObject({ status: 401, requests: 1, failure: 'timeout' });
    expect(decideOutcome(answer)).toMatchObject({ kind: 'retry', counted: false });
    expect(server.requests).toHaveLength(1);
  });
});

it.each([
  301, 302, 303, 307, 308, 400, 402, 404, 408, 409, 413, 422, 425, 429, 500, 502, 503, 504, 599,
])('%i is never tried again within a call, and no redirect is followed', async (status) => {
  const elsewhere = await httpServer((response) => json(response, 200, {}));
  const server = await httpServer((response) => {
    const headers = { location: `${elsewhere.url}/api/v2/notices/send`, 'retry-after': '7' };
    response.writeHead(status, headers).end('{"code":"X"}');
  });
  const client = openClient(server.url, { notSentRetries: 3 });
  const answer = await client.send(NOTICE, tokensOf(), WITHIN);
  expect(answer).toMatchObject({ stage: 'answered', status, code: 'X', retryAfterMs: 7_000 });
  expect(answer).toMatchObject({ requests: 1, refused: [] });
  expect([server.requests.length, elsewhere.connections()]).toEqual([1, 0]);
});
