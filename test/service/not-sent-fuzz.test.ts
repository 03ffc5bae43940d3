import type { Socket } from 'node:net';
import { connect } from 'node:net';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { NOTICE, openClient, tokensOf } from './support/client.ts';
import { httpServer, json, tcpServer } from './support/servers.ts';
import type { SendAnswer } from '../../src/service/send-call.ts';

const RUNS = 400;
const AT_ONCE = 20;

/** What the front in between does to one connection. */
interface Mischief {
  readonly when: 'accept' | 'up' | 'down' | 'never';
  /** Cut after this many bytes in that direction. */
  readonly after: number;
  readonly how: 'reset' | 'close';
  /** Of the call; undefined for one that is long enough. */
  readonly deadlineMs: number | undefined;
}

const mischief: fc.Arbitrary<Mischief> = fc.record({
  when: fc.constantFrom('accept', 'up', 'down', 'never'),
  after: fc.integer({ min: 0, max: 700 }),
  how: fc.constantFrom('reset', 'close'),
  deadlineMs: fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined }),
});

/** Passes bytes to the application behind it and breaks the connection as told. */
function front(target: number, next: () => Mischief): (socket: Socket) => void {
  return (client) => {
    const { when, after, how } = next();
    const cut = (): void => {
      if (how === 'reset') client.resetAndDestroy();
      else client.destroy();
    };
    if (when === 'accept') {
      cut();
      return;
    }
    const upstream = connect(target, '127.0.0.1');
    upstream.on('error', () => client.destroy());
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    let up = 0;
    let down = 0;
    client.on('data', (part: Buffer) => {
      const room = when === 'up' ? after - up : part.length;
      up += part.length;
      upstream.write(part.subarray(0, Math.max(0, room)));
      if (when === 'up' && up >= after) cut();
    });
    upstream.on('data', (part: Buffer) => {
      const room = when === 'down' ? after - down : part.length;
      down += part.length;
      client.write(part.subarray(0, Math.max(0, room)));
      if (when === 'down' && down >= after) cut();
    });
  };
}

it('nothing that is called not sent has ever reached the application', async () => {
  const plan = fc.sample(mischief, { numRuns: RUNS * 3, seed: 20_261_121 });
  let next = 0;
  const reached = new Set<string>();
  const server = await httpServer((response, { body }) => {
    reached.add((JSON.parse(body) as { run: string }).run);
    json(response, 200, {});
  });
  const between = await tcpServer(
    front(server.port, () => plan[next++ % plan.length] ?? (plan[0] as Mischief)),
  );
  const client = openClient(between.url, { connections: 6 });

  const stages = new Map<SendAnswer['stage'], number>();
  const notSent: string[] = [];
  let inventedAnswers = 0;
  let lostAnswers = 0;
  const send = async (run: number): Promise<void> => {
    const notice = { ...NOTICE, run: `run-${run}` };
    const deadlineMs = plan[RUNS + run]?.deadlineMs ?? 2_000;
    const answer = await client.send(notice, tokensOf(), { deadlineMs });
    stages.set(answer.stage, (stages.get(answer.stage) ?? 0) + 1);
    if (answer.stage === 'sent' && reached.has(notice.run)) lostAnswers += 1;
    if (answer.stage === 'answered' && !reached.has(notice.run)) inventedAnswers += 1;
    if (answer.stage === 'not-sent') notSent.push(notice.run);
  };
  for (let run = 0; run < RUNS; run += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => send(run + index)));
  }
  await client.close();

  expect(inventedAnswers).toBe(0);
  expect(notSent.filter((run) => reached.has(run))).toStrictEqual([]);
  // The run shows something only where all three stages came up, and taken calls lost their answer.
  expect(stages.get('not-sent')).toBeGreaterThan(10);
  expect(stages.get('sent')).toBeGreaterThan(10);
  expect(stages.get('answered')).toBeGreaterThan(10);
  expect(lostAnswers).toBeGreaterThan(0);
});
