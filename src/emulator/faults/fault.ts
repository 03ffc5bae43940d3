import { fieldsOf, flagOf, integerIn, isObject, oneOf, textOf } from '../service/check-input.ts';

const FAULT_TARGETS = ['send', 'token', 'any'] as const;
const RESET_STAGES = ['before-read', 'after-read', 'after-acting'] as const;
const HANG_STAGES = ['before-acting', 'after-acting'] as const;

/**
 * Something that goes wrong with calls of the token or send endpoint. A fault needs at least one
 * effect; those that contradict each other are refused. Without `times` and `rate` it strikes
 * every call until it is cleared.
 *
 * "Acting" is what the call is for: recording the contacts, issuing the token. A fault says whether
 * it strikes before or after it; a call that acts may still be refused, for its token say, and the
 * fault strikes all the same.
 */
export interface Fault {
  /** Which calls it strikes. */
  readonly on: (typeof FAULT_TARGETS)[number];
  /** How many calls it strikes, then it is spent. */
  readonly times?: number;
  /** The share of calls it strikes, 0 to 1. */
  readonly rate?: number;
  /** Makes `rate` strike the same calls each time, 0 to 4294967295. */
  readonly seed?: number;

  /** Effect: the answer, or whatever else happens, comes this many milliseconds later. */
  readonly latencyMs?: number;
  /** Effect: the connection is reset (RST); before or after the request was read, or acted on. */
  readonly reset?: (typeof RESET_STAGES)[number];
  /** Effect: no answer ever, on a connection that stays open. */
  readonly hang?: (typeof HANG_STAGES)[number];
  /** Effect: these raw bytes instead of an HTTP answer, then the connection ends. */
  readonly garbage?: string;

  /** Effect: an answer with this status, 200 to 599, in place of the real one; not acted on. */
  readonly status?: number;
  /** Headers of that answer, such as `Location`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Body of that answer, sent as JSON. */
  readonly body?: unknown;
  /** Body of that answer, sent as it is; as text/plain unless `headers` say otherwise. */
  readonly bodyText?: string;
  /** Body of that answer: an error body in the service's shape with this code. */
  readonly code?: string;
  /** A `Retry-After` header of that answer, in seconds from now. */
  readonly retryAfter?: number;
  /** How `retryAfter` is written: as seconds (the default) or as an HTTP date. */
  readonly retryAfterAs?: 'seconds' | 'date';
  /** With `status` or `garbage`: the call is acted on first. */
  readonly afterActing?: boolean;

  /** Effect: the body, real or of `status`, drips: so many bytes at a time, so far apart. */
  readonly slowBody?: { readonly bytes: number; readonly everyMs: number };
  /** Effect: the connection ends after so many bytes of the body, fewer than it announced. */
  readonly truncate?: number;
  /** Effect: the body is padded with spaces to so many bytes. */
  readonly hugeBody?: number;
}

const ENDINGS = ['reset', 'hang', 'garbage', 'status'] as const;
const BODIES = ['body', 'bodyText', 'code'] as const;
const BODY_EFFECTS = ['slowBody', 'truncate', 'hugeBody'] as const;
const OF_STATUS = ['headers', ...BODIES, 'retryAfter'] as const;

const MAX_COUNT = 1_000_000_000;
const MAX_MS = 3_600_000;

/** Whether the call is carried out under this fault. A pure row for each effect. */
export function actsUnder(fault: Fault): boolean {
  if (fault.reset !== undefined) return fault.reset === 'after-acting';
  if (fault.hang !== undefined) return fault.hang === 'after-acting';
  if (fault.garbage !== undefined || fault.status !== undefined) return fault.afterActing === true;
  return true;
}

/**
 * Checks a fault that came from outside.
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

/** One row for each field but `on`; a body may be anything that JSON holds. */
const CHECKS: Readonly<Record<Exclude<keyof Fault, 'on'>, Check>> = {
  times: integer(1, MAX_COUNT),
  rate: checkRate,
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

/** What one fault may hold at the same time. */
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
