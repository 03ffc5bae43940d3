import * as z from 'zod';
import { checked, fields, flag, integer, oneOf, text } from '../check.ts';

const MAX_COUNT = 1_000_000_000;
const MAX_MS = 3_600_000;

const rate = () => {
  const message = 'expected a number from 0 to 1';
  return z.number(message).min(0, message).max(1, message);
};

const headers = () =>
  z
    .record(
      z.string(),
      text().regex(/^[\x20-\x7e]+$/, 'expected printable ASCII'),
      'expected an object',
    )
    .superRefine((given, context) => {
      for (const name of Object.keys(given)) {
        if (!/^[A-Za-z0-9-]+$/.test(name)) context.addIssue(`"${name}" is no header`);
      }
    });

/**
 * A fault injected into requests to the token or send endpoint. A fault needs at least one effect;
 * contradicting effects are an error. Without `times` and `rate` it applies to every request until it is
 * cleared.
 *
 * "Acting" is the processing of the request: recording the contacts, issuing the token. A fault defines
 * whether it applies before or after that; a request that is processed may still be rejected, for example
 * for its token, and the fault applies all the same.
 */
export const faultSchema = fields({
  on: oneOf(['send', 'token', 'any']),
  /** Number of requests it applies to; then it is used up. */
  times: integer(1, MAX_COUNT).optional(),
  /** The share of requests it applies to, 0 to 1. */
  rate: rate().optional(),
  /** Only requests whose body contains this text: a phone number, a sender key. Default: every request. */
  containing: text().optional(),
  /** Makes `rate` choose the same requests each time. */
  seed: integer(0, 0xffff_ffff).optional(),

  /** Effect: the response, or any other effect, is delayed by this many milliseconds. */
  latencyMs: integer(1, MAX_MS).optional(),
  /** Effect: the connection is reset (RST), before or after the request is read or processed. */
  reset: oneOf(['before-read', 'after-read', 'after-acting']).optional(),
  /** Effect: no response, and the connection stays open. */
  hang: oneOf(['before-acting', 'after-acting']).optional(),
  /** Effect: these raw bytes instead of an HTTP response, then the connection is closed. */
  garbage: text().optional(),

  /** Effect: a response with this status instead of the real one; not processed. */
  status: integer(200, 599).optional(),
  /** Headers of that response, such as `Location`. */
  headers: headers().optional(),
  /** Body of that response, sent as JSON. */
  body: z.unknown().optional(),
  /** Body of that response, sent unchanged; text/plain unless `headers` set another type. */
  bodyText: text().optional(),
  /** Body of that response: an error body of the service with this code. */
  code: text().optional(),
  /** A `Retry-After` header of that response, in seconds from now. */
  retryAfter: integer(0, MAX_COUNT).optional(),
  /** With `status` or `garbage`: the request is processed first. */
  afterActing: flag().optional(),

  /** Effect: the body is sent slowly: this many bytes at this interval. */
  slowBody: fields({ bytes: integer(1, MAX_COUNT), everyMs: integer(1, MAX_MS) }).optional(),
  /** Effect: the connection is closed after this many bytes of the body, fewer than announced. */
  truncate: integer(0, MAX_COUNT).optional(),
  /** Effect: the body is padded with spaces to this many bytes. */
  hugeBody: integer(1, MAX_COUNT).optional(),
}).superRefine((fault, context) => {
  const problem = problemOf((name) => fault[name] !== undefined);
  if (problem !== undefined) context.addIssue({ code: 'custom', ...problem });
});

export type Fault = Readonly<z.output<typeof faultSchema>>;

const ENDINGS = ['reset', 'hang', 'garbage', 'status'] as const;
const BODIES = ['body', 'bodyText', 'code'] as const;
const BODY_EFFECTS = ['slowBody', 'truncate', 'hugeBody'] as const;
const EFFECTS = [...ENDINGS, ...BODY_EFFECTS, 'latencyMs'] as const;

const NEEDS: readonly (readonly [field: keyof Fault, needed: readonly (keyof Fault)[]])[] = [
  ...(['headers', ...BODIES, 'retryAfter'] as const).map((name) => [name, ['status']] as const),
  ['seed', ['rate']],
  ['afterActing', ['status', 'garbage']],
];

/** Why the fields of a fault cannot be combined. */
function problemOf(
  given: (name: keyof Fault) => boolean,
): { path: string[]; message: string } | undefined {
  if (!EFFECTS.some(given)) {
    return { path: [], message: `expected an effect: one of ${EFFECTS.join(', ')}` };
  }
  const withoutBody = (['reset', 'hang', 'garbage'] as const).filter(given);
  for (const group of [ENDINGS, BODIES, [...withoutBody, ...BODY_EFFECTS]]) {
    const names = group.filter(given);
    if (names.length > 1) return { path: [], message: `${names.join(' and ')} exclude each other` };
  }
  const [field, needed] = NEEDS.find(([name, of]) => given(name) && !of.some(given)) ?? [];
  if (field === undefined) return undefined;
  return { path: [field], message: `needs ${needed?.join(' or ') ?? ''}` };
}

/** Whether a request with this fault is processed; one row per effect. */
export function actsUnder(fault: Fault): boolean {
  if (fault.reset !== undefined) return fault.reset === 'after-acting';
  if (fault.hang !== undefined) return fault.hang === 'after-acting';
  if (fault.garbage !== undefined || fault.status !== undefined) return fault.afterActing === true;
  return true;
}

/** @throws TypeError that names the field */
export const checkedFault = (value: unknown): Fault => checked(faultSchema, value, 'fault');
