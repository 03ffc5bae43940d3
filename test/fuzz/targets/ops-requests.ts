import * as fc from 'fast-check';
import { z } from 'zod';
import { newApiKey } from '../../../src/ops/web/access/accounts.ts';
import { OPS_ROUTES } from '../../../src/ops/web/http/route-table.ts';
import type { Route } from '../../../src/ops/web/http/route.ts';
import { call } from '../../emulator/calls.ts';
import { startOps } from '../../ops/web/support/ops-bench.ts';
import { damaged, hostileText, hostileValue, nearly, textOf } from '../support/hostile.ts';
import { target, type Target } from '../support/target.ts';
import { JOB } from './jobs.ts';

const types = fc.constantFrom(
  'application/json',
  'application/json',
  'application/x-www-form-urlencoded',
  'application/json; charset=utf-16',
  'multipart/form-data; boundary=x',
  'text/plain',
  '',
);

/** Values for a name, some of which its route wants. */
const value = fc.oneof(
  hostileValue,
  fc.constantFrom<unknown>('a reason', 'some-id', 5, true, '2030-01-01T00:00:00Z', ['some-id']),
);

const namesOf = ({ input }: Route) =>
  input instanceof z.ZodObject ? Object.keys(input.shape) : [];

function bodiesOf(route: Route): fc.Arbitrary<Buffer> {
  const names = namesOf(route);
  const fields = fc.dictionary(fc.constantFrom(...names, '__proto__', 'x'), value, { maxKeys: 6 });
  const json = fc.oneof(fields, nearly(JOB.notice), hostileValue).map(textOf);
  const form = fields.map((one) =>
    new URLSearchParams(
      Object.entries(one).map(([name, put]): [string, string] => [name, textOf(put).slice(0, 500)]),
    ).toString(),
  );
  return fc.oneof(
    json.map((text) => Buffer.from(text)),
    form.map((text) => Buffer.from(text)),
    damaged(json),
  );
}

/** A path of the route, with hostile parameters and query. */
function pathsOf(route: Route): fc.Arbitrary<string> {
  const part = fc
    .oneof(hostileText, fc.constantFrom('some-id', '..', '.', 'a:b'))
    .map((text) => encodeURIComponent(Buffer.from(text.slice(0, 300)).toString()));
  const names = namesOf(route);
  const pairs = fc.array(fc.tuple(fc.constantFrom(...names, 'x'), part), { maxLength: 4 });
  return fc.tuple(fc.array(part, { minLength: 3, maxLength: 3 }), pairs).map(([parts, query]) => {
    const left = [...parts];
    const path = route.path.replaceAll(/:\w+/g, () => left.pop() ?? 'x');
    return `${path}?${query.map((pair) => pair.join('=')).join('&')}`;
  });
}

/** Callers; each may make 1,200 requests a minute, so that together they are never too many. */
const OPERATORS = 300;

const requests = fc.constantFrom(...OPS_ROUTES).chain((route) =>
  fc.record({
    method: fc.constant(route.method),
    path: pathsOf(route),
    // Evenly: each has a limit of its own.
    caller: fc.noBias(fc.nat({ max: OPERATORS - 1 })),
    type: types,
    headers: fc.dictionary(
      fc.constantFrom('idempotency-key', 'accept', 'cookie', 'origin', 'if-none-match'),
      fc.oneof(hostileText, fc.constant('text/html')).map((text) => text.replace(/[^ -~]/g, '')),
    ),
    body: route.method === 'GET' ? fc.constant(Buffer.alloc(0)) : bodiesOf(route),
  }),
);

/** One request, byte for byte. */
type Request = typeof requests extends fc.Arbitrary<infer One> ? One : never;

/** Statuses that say which part of the request was wrong, or that it was done. */
const EXPECTED = new Set([200, 202, 303, 304, 400, 401, 403, 404, 409, 413, 414, 415, 422, 431]);

/** Starts an ops server: requests to it are the target. */
export async function fuzzedOps(
  redisUrl: string,
  prefix: string,
): Promise<{ readonly target: Target; readonly isAlive: () => Promise<boolean> }> {
  const keys = Array.from({ length: OPERATORS }, (_, index) =>
    newApiKey(`robot-${index}`, index % 5 === 0 ? 'sender' : 'operator'),
  );
  const bench = await startOps(redisUrl, prefix, {
    OPS_API_KEYS: keys.map(({ entry }) => entry).join(','),
  });
  const law = async (one: Request) => {
    const { status, text } = await send(bench.url, one, keys[one.caller]?.key ?? '');
    // All signing in is from one address, which a limit of its own meets.
    if (EXPECTED.has(status) || (status === 429 && one.path.startsWith('/sign-in'))) return;
    throw new Error(`${one.method} ${one.path} answers ${status}: ${text.slice(0, 500)}`);
  };
  return {
    target: target({ name: 'request to the ops server', inputs: requests, law }),
    isAlive: async () => (await bench.nobody.get('/livez')).status === 200,
  };
}

function send(url: string, { method, path, type, headers, body }: Request, key: string) {
  const typed = { ...headers, ...(type === '' ? {} : { 'content-type': type }) };
  const wire = { method, body, headers: { ...typed, authorization: `Bearer ${key}` } };
  return call({ url }, path, wire).catch((error: NodeJS.ErrnoException) => {
    // A body that is refused unread may break the connection.
    if (error.code === 'ECONNRESET' || error.code === 'EPIPE') return { status: 413, text: '' };
    throw error;
  });
}
