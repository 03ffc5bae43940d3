import { createHmac } from 'node:crypto';
import { Agent, request } from 'undici';
import { formatAlert, type AlertFormat } from './chat-format.ts';

/** Result of a post. */
export type Posted =
  | { readonly taken: true; readonly status: number }
  /** `why` is a code that is safe to log: never the address or the answer of the receiver. */
  | { readonly taken: false; readonly why: string };

const CONNECT_TIMEOUT_MS = 3_000;
const ANSWER_TIMEOUT_MS = 5_000;
const POST_DEADLINE_MS = 10_000;
/** Most bytes of an answer that are read. */
const MAX_ANSWER_BYTES = 16 * 1024;

/**
 * Signs a body with a timestamp: `t=<seconds since the epoch>,v1=<HMAC-SHA256 of "t.body", hexadecimal>`.
 * A receiver that refuses old timestamps is protected against replayed requests.
 *
 * @param at milliseconds since the epoch
 */
export function signatureOf(secret: string, body: string, at: number): string {
  const seconds = Math.floor(at / 1_000);
  const mac = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
  return `t=${seconds},v1=${mac}`;
}

/** Where alerts are posted. */
export interface WebhookSettings {
  readonly url: string;
  /** Signs each post. */
  readonly secret: string;
  /** @default 'json' */
  readonly format?: AlertFormat | undefined;
}

/** A receiver of alerts. Redirects are not followed, so that a signed alert reaches no other host. */
export class Webhook {
  readonly #url: string;
  readonly #secret: string;
  readonly #format: AlertFormat;
  readonly #agent = new Agent({
    connections: 1,
    connect: { timeout: CONNECT_TIMEOUT_MS, rejectUnauthorized: true },
    headersTimeout: ANSWER_TIMEOUT_MS,
    bodyTimeout: ANSWER_TIMEOUT_MS,
    maxResponseSize: MAX_ANSWER_BYTES,
  });

  constructor({ url, secret, format = 'json' }: WebhookSettings) {
    this.#url = url;
    this.#secret = secret;
    this.#format = format;
  }

  /** Posts once; throws nothing. @param alert its id, and the alert in JSON */
  async post(alert: { readonly id: string; readonly body: string }): Promise<Posted> {
    const { id } = alert;
    try {
      const body = formatAlert(alert.body, this.#format);
      const answer = await request(this.#url, {
        dispatcher: this.#agent,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'notice-queue',
          'notices-alert-id': id,
          'notices-signature': signatureOf(this.#secret, body, Date.now()),
        },
        body,
        signal: AbortSignal.timeout(POST_DEADLINE_MS),
      });
      const { statusCode: status } = answer;
      // Only the status counts, also if reading the rest of the answer fails.
      await answer.body.dump().catch(() => {});
      return status >= 200 && status < 300
        ? { taken: true, status }
        : { taken: false, why: `HTTP_${status}` };
    } catch (error) {
      return { taken: false, why: codeOf(error) };
    }
  }

  /** Aborts a post in progress. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : error.name;
}
