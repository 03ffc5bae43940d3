import { describe, expect, it } from 'vitest';
import type { CancelSignal, TokenSource } from '../../src/contracts/token.ts';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { decideOutcome } from '../../src/service/outcome-table.ts';
import { CANARY, FIRST, NOTICE, SECOND, openClient, tokensOf } from './support/client.ts';
import { certificate, httpServer, json, tlsServer } from './support/servers.ts';

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

  it('carries the token encoded a second time on v1 (service-api, Authentication rule 1)', async () => {
    const server = await httpServer((response) => json(response, 200, {}));
    const client = openClient(server.url, { apiVersion: 'v1', sendPath: '/api/v1/notices/send' });
    await client.send(NOTICE, tokensOf(), WITHIN);
    expect(server.requests[0]?.path).toBe('/api/v1/notices/send');
    expect(server.requests[0]?.headers.authorization).toBe(
      `Bearer ${Buffer.from(CANARY.token).toString('base64')}`,
    );
  });

  it('goes below the path of the base address', async () => {
    const server = await httpServer((response) => json(response, 200, {}));
    await openClient(`${server.url}/gateway/`).send(NOTICE, tokensOf(), WITHIN);
    expect(server.requests[0]?.path).toBe('/gateway/api/v2/notices/send');
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

  it('goes over TLS to a certificate of the given CA', async () => {
    const server = await tlsServer('local', (socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
    });
    const client = openClient(server.url, { tlsCa: certificate('local').cert });
    expect(await client.send(NOTICE, tokensOf(), WITHIN)).toMatchObject({
      status: 200,
      body: 'none',
    });
  });

  it('goes on as many connections as configured, and no more', async () => {
    const server = await httpServer((response) => json(response, 200, {}));
    const client = openClient(server.url, { connections: 4 });
    const sends = Array.from({ length: 40 }, () => client.send(NOTICE, tokensOf(), WITHIN));
    for (const answer of await Promise.all(sends)) expect(answer.status).toBe(200);
    expect(server.requests).toHaveLength(40);
    expect(server.connections()).toBeLessThanOrEqual(4);
  });

  it('does not go on a connection that the service is about to drop', async () => {
    const server = await httpServer((response) => {
      response.setHeader('keep-alive', 'timeout=1');
      json(response, 200, {});
    });
    const client = openClient(server.url, { connections: 1 });
    await client.send(NOTICE, tokensOf(), WITHIN);
    await client.send(NOTICE, tokensOf(), WITHIN);
    expect(server.connections()).toBe(2);
  });

  it('ignores the proxy variables of the environment', async () => {
    const names = [
      'HTTP_PROXY',
      'http_proxy',
      'HTTPS_PROXY',
      'https_proxy',
      'ALL_PROXY',
      'all_proxy',
    ];
    const before = names.map((name) => [name, process.env[name]] as const);
    const proxy = await httpServer((response) => json(response, 200, {}));
    const server = await httpServer((response) => json(response, 200, {}));
    for (const name of names) process.env[name] = proxy.url;
    try {
      const client = openClient(server.url);
      expect(await client.send(NOTICE, tokensOf(), WITHIN)).toMatchObject({ status: 200 });
    } finally {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    }
    expect(proxy.connections()).toBe(0);
    expect(server.requests).toHaveLength(1);
  });
});

describe('a token that could not stand in a header', () => {
  it.each(['tok\nX-Evil: 1', 'tok\r\n\r\nPOST /', 'tökén', ''])(
    '%j: nothing is sent',
    async (value) => {
      const server = await httpServer((response) => json(response, 200, {}));
      const sending = openClient(server.url).send(NOTICE, tokensOf({ id: 'x', value }), WITHIN);
      await expect(sending).rejects.toMatchObject({ code: 'TOKEN_INVALID' });
      expect(server.connections()).toBe(0);
    },
  );

  it('after a refusal: the call ends', async () => {
    const server = await httpServer((response) => json(response, 401, {}));
    const tokens = tokensOf(FIRST, { id: 'x', value: 'a\r\nb: c' });
    const sending = openClient(server.url).send(NOTICE, tokens, WITHIN);
    await expect(sending).rejects.toMatchObject({ code: 'TOKEN_INVALID' });
    expect(server.requests).toHaveLength(1);
  });
});

describe.each([401, 403] as const)('a %i (service-api, Authentication rule 4)', (status) => {
  it('refreshes the token and retries once, with the same bytes', async () => {
    const server = await httpServer((response, { headers }) => {
      const good = headers.authorization === `Bearer ${CANARY.renewed}`;
      json(response, good ? 200 : status, good ? {} : { code: 'INVALID_ACCESS_KEY' });
    });
    const tokens = tokensOf();
    const answer = await openClient(server.url).send(NOTICE, tokens, WITHIN);

    expect(answer).toMatchObject({ status: 200, tokenId: SECOND.id, requests: 2 });
    expect(answer).not.toHaveProperty('code');
    expect(answer.refused).toStrictEqual([
      { tokenId: FIRST.id, status, code: 'INVALID_ACCESS_KEY' },
    ]);
    expect(tokens.renewals).toStrictEqual([{ id: FIRST.id, status }]);
    expect(server.requests.map(({ body }) => body)).toStrictEqual([
      JSON.stringify(NOTICE),
      JSON.stringify(NOTICE),
    ]);
    expect(server.requests[1]?.headers.authorization).toBe(`Bearer ${CANARY.renewed}`);
  });

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

  it('for a young token, tried again with the same, needs evidence', async () => {
    const server = await httpServer((response) => json(response, status, {}));
    const answer = await openClient(server.url).send(NOTICE, tokensOf(FIRST, FIRST), WITHIN);
    expect(answer.refused).toHaveLength(2);
    expect(decideOutcome(answer)).toMatchObject({
      kind: 'hold',
      scope: 'template',
      rejectAfter: 4,
    });
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

  it('given up during the renewal: nothing was taken, the job goes back', async () => {
    const server = await httpServer((response) => json(response, status, {}));
    const giveUp = new AbortController();
    const tokens: TokenSource = {
      get: () => Promise.resolve(FIRST),
      renew: (_refused, _status, cancel) => {
        giveUp.abort();
        expect(cancel?.aborted).toBe(true);
        return Promise.reject(new NoticeQueueError('TOKEN_UNAVAILABLE'));
      },
    };
    const options = { ...WITHIN, signal: giveUp.signal };
    const answer = await openClient(server.url).send(NOTICE, tokens, options);
    expect(answer).toMatchObject({ stage: 'answered', status, requests: 1 });
    expect(decideOutcome(answer)).toMatchObject({ kind: 'retry', counted: false });
    expect(server.requests).toHaveLength(1);
  });
});

describe('the token source', () => {
  it('fails before the first request: its error passes through', async () => {
    const server = await httpServer((response) => json(response, 200, {}));
    const failure = new NoticeQueueError('TOKEN_UNAVAILABLE');
    const tokens: TokenSource = {
      get: () => Promise.reject(failure),
      renew: () => Promise.reject(failure),
    };
    await expect(openClient(server.url).send(NOTICE, tokens, WITHIN)).rejects.toBe(failure);
    expect(server.connections()).toBe(0);
  });

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

  it('takes longer than the deadline: nothing is sent', async () => {
    const server = await httpServer((response) => json(response, 200, {}));
    const tokens: TokenSource = {
      ...tokensOf(),
      get: (cancel) =>
        new Promise((resolve) => {
          cancel?.addEventListener('abort', () => resolve(FIRST));
        }),
    };
    const answer = await openClient(server.url).send(NOTICE, tokens, { deadlineMs: 100 });
    expect(answer).toMatchObject(NOT_TRIED);
    expect(decideOutcome(answer)).toEqual(NOT_COUNTED);
    expect(server.connections()).toBe(0);
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

describe('statuses that are never tried again within a call', () => {
  it.each([400, 402, 404, 408, 409, 413, 422, 425, 429, 500, 502, 503, 504, 599])(
    '%i',
    async (status) => {
      const server = await httpServer((response) => json(response, status, { code: 'X' }));
      const answer = await openClient(server.url, { notSentRetries: 3 }).send(
        NOTICE,
        tokensOf(),
        WITHIN,
      );
      expect(answer).toMatchObject({
        stage: 'answered',
        status,
        code: 'X',
        requests: 1,
        refused: [],
      });
      expect(server.requests).toHaveLength(1);
    },
  );

  it('429 tells for how long', async () => {
    const server = await httpServer((response) => {
      response.writeHead(429, { 'retry-after': '7' }).end();
    });
    const answer = await openClient(server.url).send(NOTICE, tokensOf(), WITHIN);
    expect(answer).toMatchObject({ status: 429, body: 'none', retryAfterMs: 7_000 });
  });
});

describe('a redirect', () => {
  it.each([301, 302, 303, 307, 308])('%i is never followed', async (status) => {
    const elsewhere = await httpServer((response) => json(response, 200, {}));
    const server = await httpServer((response) => {
      response.writeHead(status, { location: `${elsewhere.url}/api/v2/notices/send` }).end();
    });
    const answer = await openClient(server.url).send(NOTICE, tokensOf(), WITHIN);
    expect(answer).toMatchObject({ stage: 'answered', status, requests: 1 });
    expect(decideOutcome(answer)).toMatchObject({ kind: 'hold', hold: 'address' });
    expect(server.requests).toHaveLength(1);
    expect(elsewhere.connections()).toBe(0);
  });
});
