/**
 * A client library as the services of this trade publish them: it checks and tidies what it is given,
 * keeps its token in the process, and asks for another one when that is refused. No queue, no state.
 * Most of them stand on fetch; the fastest that one could be stands on node:http.
 */
import { Agent, request } from 'node:http';
import type { Contact, Notice } from '../../src/contracts/notice.ts';

interface Answer {
  readonly status: number;
  readonly text: string;
}

type Headers = Readonly<Record<string, string>>;

/** Makes a POST request. */
export type Post = (url: string, headers: Headers, body: string | undefined) => Promise<Answer>;

/** As most libraries do. */
export const overFetch: Post = async (url, headers, body) => {
  const signal = AbortSignal.timeout(10_000);
  const init = { method: 'POST', headers, signal, ...(body === undefined ? {} : { body }) };
  const response = await fetch(url, init);
  return { status: response.status, text: await response.text() };
};

/** As few libraries do. */
export function overNodeHttp(connections: number): Post {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  return (url, headers, body = '') =>
    new Promise((resolve, reject) => {
      const length = { 'content-length': Buffer.byteLength(body) };
      const options = {
        method: 'POST',
        agent,
        headers: { ...headers, ...length },
        timeout: 10_000,
      };
      const call = request(url, options, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (piece: string) => (text += piece));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
        response.on('error', reject);
      });
      call.on('error', reject);
      call.end(body);
    });
}

export class NoticeClient {
  readonly #baseUrl: string;
  readonly #basic: string;
  readonly #post: Post;
  #token: Promise<string> | undefined;

  constructor(baseUrl: string, accessKey: string, secretKey: string, post: Post) {
    this.#baseUrl = baseUrl;
    this.#basic = `Basic ${Buffer.from(`${accessKey}:${secretKey}`).toString('base64')}`;
    this.#post = post;
  }

  async send(notice: Notice): Promise<unknown> {
    const body = JSON.stringify({ ...notice, contacts: notice.contacts.map(tidy) });
    for (let again = true; ; again = false) {
      this.#token ??= this.#issue();
      const headers = {
        authorization: `Bearer ${await this.#token}`,
        'content-type': 'application/json',
      };
      const { status, text } = await this.#post(
        `${this.#baseUrl}/api/v2/notices/send`,
        headers,
        body,
      );
      if (status < 300) return JSON.parse(text) as unknown;
      if (status !== 401 || !again) throw new Error(`HTTP ${status} ${text}`);
      this.#token = undefined;
    }
  }

  async #issue(): Promise<string> {
    const headers = { authorization: this.#basic };
    const { text } = await this.#post(`${this.#baseUrl}/api/v2/token`, headers, undefined);
    return (JSON.parse(text) as { data: { token: string } }).data.token;
  }
}

function tidy(contact: Contact): Contact {
  const number = contact.contact.replaceAll(/[\s-]/g, '');
  if (!/^\d{8,15}$/.test(number)) throw new TypeError('not a phone number');
  return { ...contact, contact: number };
}
