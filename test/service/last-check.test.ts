import { describe, expect, it } from 'vitest';
import { Cancellation } from '../../src/async/cancellation.ts';
import { decideOutcome } from '../../src/service/outcome-table.ts';
import type { RequestGuard } from '../../src/service/send-call.ts';
import { until } from '../support/wait.ts';
import { NOTICE, openClient, tokensOf } from './support/client.ts';
import { certificate, httpServer, json, tlsServer } from './support/servers.ts';

/** A guard whose permission can be withdrawn. */
function guardThat(mayStart: () => boolean): RequestGuard {
  return { cancel: new Cancellation(), check: () => Promise.resolve(), mayStart };
}

describe('permission that is withdrawn while a request waits', () => {
  it('a request that was not sent is not repeated: its notice may have expired', async () => {
    let requests = 0;
    const server = await tlsServer('local', (socket) => socket.once('data', () => requests++), {
      resetFirst: 1,
    });
    const client = openClient(server.url, { tlsCa: certificate('local').cert, notSentRetries: 2 });
    const guard = guardThat(() => server.connections() < 2);
    const answer = await client.send(NOTICE, tokensOf(), { deadlineMs: 8_000, guard });
    expect(answer).toMatchObject({ stage: 'not-sent', failure: 'aborted', requests: 0 });
    expect(decideOutcome(answer)).toMatchObject({ kind: 'retry', counted: false });
    expect(requests).toBe(0);
    expect(server.connections()).toBe(2);
  });

  it('is asked for before each repeat of a request that was not sent', async () => {
    let asked = 0;
    const server = await tlsServer(
      'local',
      (socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\n')),
      { resetFirst: 2 },
    );
    const client = openClient(server.url, { tlsCa: certificate('local').cert, notSentRetries: 2 });
    const seen: number[] = [];
    const guard = guardThat(() => {
      asked += 1;
      seen.push(server.connections());
      return true;
    });
    const options = { deadlineMs: 8_000, guard, ownConnection: true };
    expect(await client.send(NOTICE, tokensOf(), options)).toMatchObject({ status: 200 });
    expect([asked, seen]).toEqual([1, [3]]);
  });

  it('a request that waits for a connection is not made, and the connection stays open', async () => {
    let isAllowed = true;
    const answers: (() => void)[] = [];
    const server = await httpServer((response) => answers.push(() => json(response, 200, {})));
    const client = openClient(server.url, { connections: 1 });
    const first = client.send(NOTICE, tokensOf(), { deadlineMs: 8_000 });
    await until(() => answers.length === 1, { what: 'the first request' });
    const guard = guardThat(() => isAllowed);
    const second = client.send(NOTICE, tokensOf(), { deadlineMs: 8_000, guard });
    isAllowed = false;
    answers[0]?.();
    expect(await first).toMatchObject({ status: 200 });
    expect(await second).toMatchObject({ stage: 'not-sent', failure: 'aborted' });
    const third = client.send(NOTICE, tokensOf(), { deadlineMs: 8_000 });
    await until(() => answers.length === 2, { what: 'the third request' });
    answers[1]?.();
    expect(await third).toMatchObject({ status: 200 });
    expect(server.connections()).toBe(1);
    expect(server.requests).toHaveLength(2);
  });
});
