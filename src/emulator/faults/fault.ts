import { fieldsOf, flagOf, integerIn, isObject, oneOf, textOf } from '../service/check-input.ts';

const FAULT_TARGETS = ['send', 'token', 'any'] as const;
const RESET_STAGES = ['before-read', 'after-read', 'after-acting'] as const;
const HANG_STAGES = ['before-acting', 'after-acting'] as const;

/**
 * A fault injected into requests to the token or send endpoint. A fault needs at least one effect;
 * contradicting effects are an error. Without `times` and `rate` it applies to every request until it is
 * cleared.
 *
 * "Acting" is the processing of the request: recording the contacts, issuing the token. A fault defines
 * whether it applies before or after that; a request that is processed may still be rejected, for example
 * for its token, and the fault applies all the same.
 */
export interface Fault {
  /** The requests it applies to. */
  readonly on: (typeof FAULT_TARGETS)[number];
  /** Number of requests it applies to; then it is used up. */
  readonly times?: number;
  /** The share of requests it applies to, 0 to 1. */
  readonly rate?: number;
  /** Only requests whose body contains this text: a phone number, a sender key. Default: every request. */
  readonly containing?: string;
  /** Makes `rate` choose the same requests each time, 0 to 4294967295. */
  readonly seed?: number;

  /** Effect: the response, or any other effect, is delayed by this many milliseconds. */
  readonly latencyMs?: number;
  /** Effect: the connection is reset (RST), before or after the request is read or processed. */
  readonly reset?: (typeof RESET_STAGES)[number];
  /** Effect: no response, and the connection stays open. */
  readonly hang?: (typeof HANG_STAGES)[number];
  /** Effect: these raw bytes instead of an HTTP response, then the connection is closed. */
  readonly garbage?: string;

  /** Effect: a response with this status, 200 to 599, instead of the real one; not processed. */
  readonly status?: number;
  /** Headers of that response, such as `Location`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Body of that response, sent as JSON. */
  readonly body?: unknown;
  /** Body of that response, sent unchanged; text/plain unless `headers` set another type. */
  readonly bodyText?: string;
  /** Body of that response: an error body of the service with this code. */
  readonly code?: string;
  /** A `Retry-After` header of that response, in seconds from now. */
  readonly retryAfter?: number;
  /** How `retryAfter` is written: as seconds (the default) or as an HTTP date. */
  readonly retryAfterAs?: 'seconds' | 'date';
  /** With `status` or `garbage`: the request is processed first. */
  readonly afterActing?: boolean;

  /** Effect: the body is sent slowly: this many bytes at this interval. */
  readonly slowBody?: { readonly bytes: number; readonly everyMs: number };
  /** Effect: the connection is closed after this many bytes of the body, fewer than announced. */
  readonly truncate?: number;
  /** Effect: the body is padded with spaces to this many bytes. */
  readonly hugeBody?: number;
}

const ENDINGS = ['reset', 'hang', 'garbage', 'status'] as const;
const BODIES = ['body', 'bodyText', 'code'] as const;
const BODY_EFFECTS = ['slowBody', 'truncate', 'hugeBody'] as const;
const OF_STATUS = ['headers', ...BODIES, 'retryAfter'] as const;

const MAX_COUNT = 1_000_000_000;
const MAX_MS = 3_600_000;

/** Whether a request with this fault is processed; one row per effect. */
export function actsUnder(fault: Fault): boolean {
  if (fault.reset !== undefined) return fault.reset === 'after-acting';
  if (fault.hang !== undefined) return fault.hang === 'after-acting';
  if (fault.garbage !== undefined || fault.status !== undefined) return fault.afterActing === true;
  return true;
}

/**
 * Validates a fault.
 *
 * @throws TypeError or RangeError that names the field
 */
export function checkedFault(value: unknown): Fault {
  assertFault(value);
  return value;
}

type Check = (name: string, value: unknown) => void;

const integer =
  (min: number, max: number): Check =>
  (name, value) =>
    integerIn(name, value, min, max);

const oneIn =
  (allowed: readonly string[]): Check =>
  (name, value) =>
    oneOf(name, value, allowed);

/** One row for each field except `on`; a body may be any JSON value. */
const CHECKS: Readonly<Record<Exclude<keyof Fault, 'on'>, Check>> = {
  times: integer(1, MAX_COUNT),
  rate: checkRate,
  containing: textOf,
  seed: integer(0, 0xffff_ffff),
  latencyMs: integer(1, MAX_MS),
  reset: oneIn(RESET_STAGES),
  hang: oneIn(HANG_STAGES),
  garbage: textOf,
  status: integer(200, 599),
  headers: checkHeaders,
  body: () => undefined,
  bodyText: textOf,
  code: textOf,
  retryAfter: integer(0, MAX_COUNT),
  retryAfterAs: oneIn(['seconds', 'date']),
  afterActing: flagOf,
  slowBody: checkSlowBody,
  truncate: integer(0, MAX_COUNT),
  hugeBody: integer(1, MAX_COUNT),
};

function assertFault(value: unknown): asserts value is Fault {
  const fault = fieldsOf('fault', value, ['on', ...Object.keys(CHECKS)]);
  oneOf('fault on', fault['on'], FAULT_TARGETS);
  for (const [name, check] of Object.entries(CHECKS)) {
    if (fault[name] !== undefined) check(`fault ${name}`, fault[name]);
  }
  checkTogether((name) => fault[name] !== undefined);
}

/** Which effects can be combined. */
function checkTogether(given: (name: keyof Fault) => boolean): void {
  const effects = [...ENDINGS, ...BODY_EFFECTS, 'latencyMs'] as const;
  if (!effects.some(given)) {
    throw new TypeError(`fault: expected an effect: one of ${effects.join(', ')}`);
  }
  atMostOne(ENDINGS.filter(given));
  atMostOne(BODIES.filter(given));
  atMostOne(BODY_EFFECTS.filter(given));
  const ending = ENDINGS.find(given);
  if (ending !== undefined && ending !== 'status')
    atMostOne([ending, ...BODY_EFFECTS.filter(given)]);
  needs(OF_STATUS.filter(given), given('status'), 'status');
  needs(['retryAfterAs' as const].filter(given), given('retryAfter'), 'retryAfter');
  needs(['seed' as const].filter(given), given('rate'), 'rate');
  const answered = given('status') || given('garbage');
  needs(['afterActing' as const].filter(given), answered, 'status or garbage');
}

function atMostOne(names: readonly string[]): void {
  if (names.length > 1) throw new TypeError(`fault: ${names.join(' and ')} exclude each other`);
}

function needs(names: readonly string[], has: boolean, needed: string): void {
  if (names[0] !== undefined && !has) throw new TypeError(`fault ${names[0]}: needs ${needed}`);
}

function checkRate(name: string, value: unknown): void {
  if (typeof value !== 'number' || !(value >= 0 && value <= 1)) {
    throw new RangeError(`${name}: expected a number from 0 to 1`);
  }
}

function checkHeaders(name: string, value: unknown): void {
  if (!isObject(value)) throw new TypeError(`${name}: expected an object`);
  for (const [header, text] of Object.entries(value)) {
    if (!/^[A-Za-z0-9-]+$/.test(header)) throw new TypeError(`${name}: "${header}" is no header`);
    if (!/^[\x20-\x7e]+$/.test(textOf(`${name} ${header}`, text))) {
      throw new TypeError(`${name} ${header}: expected printable ASCII`);
    }
  }
}

function checkSlowBody(name: string, value: unknown): void {
  const { bytes, everyMs } = fieldsOf(name, value, ['bytes', 'everyMs']);
  integerIn(`${name} bytes`, bytes, 1, MAX_COUNT);
  integerIn(`${name} everyMs`, everyMs, 1, MAX_MS);
}
