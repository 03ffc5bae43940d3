import { randomBytes } from 'node:crypto';
import { REFUSALS, type RefusalCode } from './refusals.ts';

export interface EmulatedAnswer {
  readonly status: number;
  /** SUCCESS or the error code, for the counts. */
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' } as const;

/** Letters only: ids with long runs of digits look like phone numbers. */
const RUN = randomBytes(4)
  .toString('hex')
  .replaceAll(/[0-9]/g, (digit) => 'ghijkmnpqr'.charAt(Number(digit)));
let lastId = 0;

/** A request id that is unique on this machine. */
export function nextId(kind: 'req' | 'trace'): string {
  lastId += 1;
  return `${kind}-${RUN}-${lastId}`;
}

export function jsonAnswer(status: number, code: string, body: unknown): EmulatedAnswer {
  return { status, code, headers: JSON_HEADERS, body: JSON.stringify(body) };
}

/** The error body in the format of real services of this kind; the documentation shows none. */
export function errorBody(code: string, message: string): string {
  const timestamp = new Date().toISOString();
  return JSON.stringify({ code, message, traceId: nextId('trace'), timestamp });
}

/** @param detail the place of the error, such as `contacts[3]` */
export function refusalAnswer(code: RefusalCode, detail?: string): EmulatedAnswer {
  const { status, message } = REFUSALS[code];
  const body = errorBody(code, detail === undefined ? message : `${detail}: ${message}`);
  return { status, code, headers: JSON_HEADERS, body };
}
