import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { AccountEvent } from '../../../src/events/event.ts';

/** An event as it is posted. */
export type Posted = AccountEvent & { readonly title: string; readonly remedy: string };

/** A post as it arrived. */
export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly events: readonly Posted[];
}

/** A receiver of events on this machine, closed when the test ends. */
export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** The events that came, in their order. */
  events(): Posted[];
  /** Their names. */
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
      const { events = [] } = JSON.parse(body) as { readonly events?: readonly Posted[] };
      received.push({ headers: request.headers, body, events });
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
  const events = () => received.flatMap((post) => post.events);
  return {
    url: `http://127.0.0.1:${port}/hook?key=CANARY-of-an-address`,
    received,
    events,
    names: () => events().map(({ event }) => event),
    answer: (given) => {
      answer = given;
    },
  };
}
