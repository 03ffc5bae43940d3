import { request, type IncomingHttpHeaders } from 'node:http';
import type { Emulator } from '../../src/emulator/emulator.ts';
import { EMULATOR_DEFAULTS } from '../../src/emulator/options.ts';

/** An answer as it came over the wire. */
export interface WireAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** What of a call differs from a plain POST without a body. */
export interface WireCall {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
  /** Address to call from; any of 127.0.0.0/8. */
  readonly from?: string | undefined;
  /** Gives up when it is aborted. */
  readonly signal?: AbortSignal;
}

/** One HTTP call on a connection of its own; rejects as node:http does. */
export function call(
  { url }: Pick<Emulator, 'url'>,
  path: string,
  wire: WireCall = {},
): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${url}${path}`,
      {
        method: wire.method ?? 'POST',
        headers: { ...wire.headers },
        agent: false,
        localAddress: wire.from,
        ...(wire.signal === undefined ? {} : { signal: wire.signal }),
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(wire.body);
  });
}

export function basic(
  accessKey: string = EMULATOR_DEFAULTS.accessKey,
  secretKey: string = EMULATOR_DEFAULTS.secretKey,
): Record<string, string> {
  return { authorization: `Basic ${base64(`${accessKey}:${secretKey}`)}` };
}

export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** Issues a token for the first app. */
export async function tokenOf(emulator: Emulator): Promise<string> {
  const answer = await call(emulator, '/api/v2/token', { headers: basic() });
  const token = data(answer)['token'];
  if (typeof token !== 'string') throw new Error(`no token: ${answer.status} ${answer.text}`);
  return token;
}

export const NOTICE = {
  templateCode: 'WELCOME',
  scheduleType: 'DIRECTLY',
  chatSenderKey: 'chat-key',
  senderKey: 'sms-key',
  contacts: [{ contact: '01000000001', var1: '하나' }],
};

/** A v2 send with this token. */
export function sendWith(
  emulator: Emulator,
  token: string,
  notice: unknown = NOTICE,
  wire: WireCall = {},
): Promise<WireAnswer> {
  return call(emulator, '/api/v2/notices/send', {
    ...wire,
    headers: { ...bearer(token), 'content-type': 'application/json', ...wire.headers },
    body: wire.body ?? JSON.stringify(notice),
  });
}

export function bearer(value: string): Record<string, string> {
  return { authorization: `Bearer ${value}` };
}

/** The JSON object of an answer. */
export function json(answer: WireAnswer): Record<string, unknown> {
  return JSON.parse(answer.text) as Record<string, unknown>;
}

/** The `data` object of an answer. */
export function data(answer: WireAnswer): Record<string, unknown> {
  return json(answer)['data'] as Record<string, unknown>;
}

/** Status and code, to compare in one step. */
export function verdict(answer: WireAnswer): string {
  return `${answer.status} ${String(json(answer)['code'])}`;
}

/** A notice for these numbers. */
export function noticeTo(...numbers: readonly string[]): typeof NOTICE {
  return { ...NOTICE, contacts: numbers.map((contact) => ({ contact, var1: 'x' })) };
}
