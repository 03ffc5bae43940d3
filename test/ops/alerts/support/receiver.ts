import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { AlertEvent } from '../../../../src/ops/alerts/alert-event.ts';

/** A post as it arrived. */
export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly path: string;
  readonly body: string;
  readonly alert: AlertEvent;
}

/** A receiver of alerts on this machine, closed when the test ends. */
export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** Names of the alerts that came, in their order. */
  names(): string[];
  /** How it answers from now on; 204 at first. */
  answer(with_: number | ((response: ServerResponse) => void)): void;
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  let answer: number | ((response: ServerResponse) => void) = 204;
  const server = createServer((request, response) => {
    void buffer(request).then((bytes) => {
      const body = bytes.toString();
      const { headers, url: path = '' } = request;
      received.push({ headers, path, body, alert: JSON.parse(body) as AlertEvent });
      if (typeof answer === 'number') response.writeHead(answer).end();
      else answer(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook?key=CANARY-of-an-address`,
    received,
    names: () => received.map(({ alert }) => alert.event),
    answer: (given) => {
      answer = given;
    },
  };
}
