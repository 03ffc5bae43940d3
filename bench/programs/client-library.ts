/**
 * A client library as the services of this trade publish them: it checks and tidies what it is given,
 * keeps its token in the process, and asks for another one when that is refused. No queue, no state.
 */
import { Agent, request } from 'node:http';
import type { Contact, Notice } from '../../src/contracts/notice.ts';

interface Answer {
  readonly status: number;
  readonly body: { readonly code?: string; readonly data?: { readonly token?: string } };
}

export class NoticeClient {
  readonly #baseUrl: string;
  readonly #basic: string;
  readonly #agent: Agent;
  #token: Promise<string> | undefined;

  constructor(baseUrl: string, accessKey: string, secretKey: string, connections: number) {
    this.#baseUrl = baseUrl;
    this.#basic = `Basic ${Buffer.from(`${accessKey}:${secretKey}`).toString('base64')}`;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  async send(notice: Notice): Promise<Answer['body']> {
    const body = JSON.stringify({ ...notice, contacts: notice.contacts.map(tidy) });
    for (let again = true; ; again = false) {
      this.#token ??= this.#issue();
      const answer = await this.#post('/api/v2/notices/send', `Bearer ${await this.#token}`, body);
      if (answer.status < 300) return answer.body;
      if (answer.status !== 401 || !again) {
        throw new Error(`HTTP ${answer.status} ${answer.body.code ?? ''}`);
      }
      this.#token = undefined;
    }
  }

  async #issue(): Promise<string> {
    const { body } = await this.#post('/api/v2/token', this.#basic, '');
    return body.data?.token ?? '';
  }

  #post(path: string, authorization: string, body: string): Promise<Answer> {
    const headers = {
      authorization,
      ...(body === '' ? {} : { 'content-type': 'application/json' }),
      'content-length': Buffer.byteLength(body),
    };
    return new Promise((resolve, reject) => {
      const options = { method: 'POST', agent: this.#agent, headers, timeout: 10_000 };
      const call = request(this.#baseUrl + path, options, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (piece: string) => (text += piece));
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as Answer['body'] });
        });
        response.on('error', reject);
      });
      call.on('error', reject);
      call.end(body);
    });
  }
}

function tidy(contact: Contact): Contact {
  const number = contact.contact.replaceAll(/[\s-]/g, '');
  if (!/^\d{8,15}$/.test(number)) throw new TypeError('not a phone number');
  return { ...contact, contact: number };
}
