import { createHmac } from 'node:crypto';
import { Agent, request } from 'undici';
import { chatText, describeEvent } from './describe.ts';
import type { AccountEvent } from './event.ts';

export type Posted =
  | { readonly taken: true; readonly status: number }
  /** `why` is a code that is safe to log: never the address or the answer of the receiver. */
  | { readonly taken: false; readonly why: string };

/** The message of a post without events. */
const TEST = 'a test of the webhook';

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

export interface WebhookSettings {
  readonly url: string;
  /** Signs each post. */
  readonly secret: string;
  /** `json`: all fields of all events; `text`: a message for chat tools. */
  readonly format: 'json' | 'text';
}

/** What is posted at once, in order. */
export interface Delivery {
  readonly events: readonly AccountEvent[];
  /** Whether earlier events may have been deleted before they could be posted. */
  readonly missed: boolean;
}

/** A receiver of events. Redirects are not followed, so that a signed event reaches no other host. */
export class Webhook {
  readonly #settings: WebhookSettings;
  readonly #queue: string;
  readonly #agent = new Agent({
    connections: 1,
    connect: { timeout: CONNECT_TIMEOUT_MS, rejectUnauthorized: true },
    headersTimeout: ANSWER_TIMEOUT_MS,
    bodyTimeout: ANSWER_TIMEOUT_MS,
    maxResponseSize: MAX_ANSWER_BYTES,
  });

  /** @param queue REDIS_PREFIX and ACCOUNT, with a colon between them: names the queue to the receiver */
  constructor(settings: WebhookSettings, queue: string) {
    this.#settings = settings;
    this.#queue = queue;
  }

  /** Posts once, or nothing where the format shows none of the events; throws nothing. */
  async post(delivery: Delivery): Promise<Posted> {
    const body = this.#bodyOf(delivery);
    if (body === undefined) return { taken: true, status: 0 };
    const { url, secret } = this.#settings;
    try {
      const answer = await request(url, {
        dispatcher: this.#agent,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'notice-queue',
          'notices-signature': signatureOf(secret, body, Date.now()),
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

  #bodyOf({ events, missed }: Delivery): string | undefined {
    if (this.#settings.format === 'text') {
      const text = events.length === 0 ? TEST : chatText(this.#queue, events);
      return text === undefined ? undefined : JSON.stringify({ text });
    }
    const described = events.map((event) => ({ ...event, ...describeEvent(event) }));
    const body = { version: 1, queue: this.#queue, events: described };
    return JSON.stringify(missed ? { ...body, missed } : body);
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
