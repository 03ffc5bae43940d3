import { createHash, timingSafeEqual } from 'node:crypto';
import { type EmulatedAnswer, jsonAnswer, refusalAnswer } from './service/answer.ts';
import type { EmulatorControls } from './controls.ts';
import type { RefusalCode } from './service/refusals.ts';

/** Lines that are streamed as fast as the caller reads them. */
export interface ControlLines {
  readonly lines: Iterable<unknown>;
}

/** The controls check what they are given, so a body of any shape is passed on. Answers the body of the response. */
type Handler = (controls: EmulatorControls, body: never, query: URLSearchParams) => unknown;

/** Every control request, by method and path. Bodies are JSON; a missing body counts as `{}`. */
const HANDLERS: ReadonlyMap<string, Handler> = new Map(
  Object.entries<Handler>({
    'GET record': (controls) => controls.record(),
    'GET record/contacts': (controls, _body, query): ControlLines => ({
      lines: controls.contacts(query.get('twice') === '1'),
    }),
    'GET record/details': (controls): ControlLines => ({ lines: controls.details() }),
    'GET issuances': (controls) => ({ issuances: controls.issuances() }),
    'POST reset': (controls) => controls.reset(),
    'POST apps': (controls, body) => controls.setApp(body),
    'POST tokens/revoke': (controls, body) => ({ revoked: controls.revokeTokens(body) }),
    'POST tokens/issue': (controls, body) => {
      const { accessKey }: { accessKey?: string } = body;
      const { value, id, expiresAt } = controls.issueForeign(accessKey);
      return { token: value, id, expiresAt };
    },
    'POST faults': (controls, body) => ({ id: controls.addFault(body) }),
    'GET faults': (controls) => ({ faults: controls.faults() }),
    'DELETE faults': (controls) => controls.clearFaults(),
  }),
);

const PATHS = new Set([...HANDLERS.keys()].map((key) => key.slice(key.indexOf(' ') + 1)));

/** Answers a control request. @param path the part after `/control/` */
export function control(
  controls: EmulatorControls,
  method: string,
  path: string,
  query: URLSearchParams,
  text: string,
): EmulatedAnswer | ControlLines {
  const handler = HANDLERS.get(`${method} ${path}`);
  if (handler === undefined) {
    return refusalAnswer(PATHS.has(path) ? 'METHOD_NOT_ALLOWED' : 'NOT_FOUND');
  }
  let body: unknown = {};
  try {
    if (text !== '') body = JSON.parse(text);
  } catch {
    return refusalAnswer('INVALID_JSON');
  }
  try {
    const answer: object = handler(controls, body as never, query) ?? {};
    return 'lines' in answer ? (answer as ControlLines) : jsonAnswer(200, 'SUCCESS', answer);
  } catch (error) {
    // The input checks throw these two, with a message for the caller.
    if (error instanceof TypeError || error instanceof RangeError) {
      return refusalAnswer('INVALID_REQUEST', error.message);
    }
    throw error;
  }
}

/**
 * Access to the control API: on loopback without a key, from other machines only with a key. A key that
 * is set is required everywhere.
 */
export function controlGate(
  expected: string | undefined,
  onLoopback: boolean,
  given: string | undefined,
): RefusalCode | undefined {
  if (expected === undefined) return onLoopback ? undefined : 'CONTROL_CLOSED';
  return given !== undefined && timingSafeEqual(hash(expected), hash(given))
    ? undefined
    : 'CONTROL_KEY_REQUIRED';
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
