import { inspect } from 'node:util';
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { CANARY, NOTICE, openClient, tokensOf } from './support/client.ts';
import { tcpAnswers, tlsServer } from './support/servers.ts';
import type { TestServer } from './support/servers.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Every secret and personal value in the forms in which it goes over the wire. */
const FORBIDDEN = [
  ...Object.values(CANARY),
  base64(CANARY.token),
  base64(CANARY.renewed),
  base64(CANARY.secretKey),
  base64(`${CANARY.accessKey}:${CANARY.secretKey}`),
  encodeURIComponent(`${CANARY.accessKey}:${CANARY.secretKey}`),
  '010-9876-5432',
];

/** The canaries in what a log, a crash report or a stored error could show of a value: also stack and cause. */
function leaksOf(value: unknown): string[] {
  const text =
    inspect(value, { depth: 20, showHidden: true, getters: true }) + JSON.stringify(value);
  return FORBIDDEN.filter((canary) => text.includes(canary));
}

it('finds a canary wherever it sits', () => {
  const cause = new Error('x', { cause: { deep: { deeper: [CANARY.token] } } });
  expect(leaksOf(Object.assign(new Error('y'), { cause }))).toStrictEqual([CANARY.token]);
  expect(leaksOf({ config: { headers: `Basic ${base64(CANARY.secretKey)}` } })).toHaveLength(1);
});

/** A service that echoes whatever it was sent, in every place where we look. */
function echo(status: number): (socket: Socket, request: string) => void {
  const before: string[] = [];
  return (socket, request) => {
    const bearer = /authorization: \w+ (\S+)/i.exec(request)?.[1] ?? '';
    before.push(bearer);
    const keys = Buffer.from(bearer, 'base64').toString('latin1');
    const text = `${keys} 010-9876-5432 ${before.join(' ')} ${request}`;
    const body = JSON.stringify({
      code: `K-${keys.split(':')[0]}`,
      errorCode: before[0],
      trace_id: `K-${keys.split(':')[1]}`,
      error: { code: `C-${CANARY.phone}`, message: text },
      errors: [{ code: bearer, message: text }, text],
      message: text,
      traceId: CANARY.phone,
      requestId: before[0],
    });
    const head = `HTTP/1.1 ${status} X\r\nretry-after: ${CANARY.phone}\r\n`;
    socket.end(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  };
}

/** Ways to fail, each with a server or an address. */
const FAILURES: Record<string, () => Promise<Pick<TestServer, 'url'>>> = {
  'nothing listens': () => Promise.resolve({ url: 'http://127.0.0.1:1' }),
  'unknown name': () => Promise.resolve({ url: 'http://no-such-name.invalid' }),
  'bad certificate': () => tlsServer('local', () => undefined),
  'reset after reading': () => tcpAnswers((socket) => socket.resetAndDestroy()),
  'no answer': () => tcpAnswers(() => undefined),
  garbage: () => tcpAnswers((socket, request) => socket.end(request)),
  'echo in headers': () =>
    tcpAnswers((socket, request) =>
      socket.end(`HTTP/1.1 200 OK\r\n${request.slice(request.indexOf('\r\n') + 2)}`),
    ),
  'cut off': () =>
    tcpAnswers((socket, request) =>
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n${request}`),
    ),
  'plain echo': () =>
    tcpAnswers((socket, request) =>
      socket.end(`HTTP/1.1 400 Bad\r\ncontent-length: ${request.length}\r\n\r\n${request}`),
    ),
  redirect: () =>
    tcpAnswers((socket) =>
      socket.end(
        `HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/${CANARY.token}\r\ncontent-length: 0\r\n\r\n`,
      ),
    ),
  ...Object.fromEntries(
    [200, 400, 401, 402, 403, 404, 413, 422, 429, 500, 503].map((status) => [
      `echo with ${status}`,
      () => tcpAnswers(echo(status)),
    ]),
  ),
};

it.each(Object.entries(FAILURES))(
  '%s: no secret, token or number in the answer, in the error of an issuance, in the client',
  async (_name, serve) => {
    const [sends, issuances] = [await serve(), await serve()];
    const client = openClient(issuances.url, { issueDeadlineMs: 700 });
    const failing = client.issueToken().catch((caught: unknown) => caught);
    for (const apiVersion of ['v1', 'v2'] as const) {
      const sending = openClient(sends.url, { apiVersion });
      const answer = await sending.send(NOTICE, tokensOf(), { deadlineMs: 700 });
      expect(leaksOf(answer)).toStrictEqual([]);
    }
    const error = await failing;
    expect(error).toBeInstanceOf(Error);
    expect(leaksOf([error, client])).toStrictEqual([]);
  },
);
