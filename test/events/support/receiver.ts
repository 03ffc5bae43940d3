import type { ServerResponse } from 'node:http';
import type { AccountEvent } from '../../../src/events/event.ts';
import { httpServer, type SeenRequest } from '../../service/support/servers.ts';

/** An event as it is posted. */
export type Posted = AccountEvent & { readonly title: string; readonly remedy: string };

/** Starts a receiver of events on this machine, which ends with the test. */
export async function startReceiver() {
  const received: (Pick<SeenRequest, 'headers' | 'body'> & {
    readonly events: readonly Posted[];
  })[] = [];
  let answer: number | ((response: ServerResponse) => void) = 204;
  const server = await httpServer((response, { headers, body }) => {
    const { events = [] } = JSON.parse(body) as { readonly events?: readonly Posted[] };
    received.push({ headers, body, events });
    if (typeof answer === 'number') response.writeHead(answer).end();
    else answer(response);
  });
  const events = () => received.flatMap((post) => post.events);
  return {
    url: `${server.url}/hook?key=CANARY-of-an-address`,
    received,
    /** The events that came, in their order. */
    events,
    /** Their names. */
    names: () => events().map(({ event }) => event),
    /** How it answers from now on; 204 at first. */
    answer: (given: number | ((response: ServerResponse) => void)) => {
      answer = given;
    },
  };
}
