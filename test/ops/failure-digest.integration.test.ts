import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { allBack, allFailed } from '../../src/batch/ledger/settlement.ts';
import { startRedisServer } from '../../scripts/redis/redis-server.ts';
import { groupFailures } from '../../src/batch/failures/failure-groups.ts';
import { digestFailures } from '../../src/ops/failure-digest.ts';
import { NO_SEALING } from '../../src/payload/seal.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { buildBatch, contacts, part, type BuiltBatch } from '../batch/support/built-batch.ts';
import { testRedis } from '../support/redis.ts';
import { commandsByName } from './web/support/commands.ts';

const redis = testRedis();
const CHUNK_SIZE = 10;

/** A batch in which each contact failed: of each chunk four parts are BAD, four LOST and two TEN. */
async function failedBatch(
  chunks: number,
  client = redis.client,
): Promise<BuiltBatch & { readonly groups: string }> {
  const prefix = redis.freshPrefix();
  const lists = Array.from({ length: chunks }, (_, at) => contacts(CHUNK_SIZE, at * CHUNK_SIZE));
  const batch = await buildBatch(client, prefix, 'b', lists);
  for (const [chunk, list] of lists.entries()) {
    const failed = list.map((contact, index) =>
      index < 4
        ? part('rejected', 'BAD', [contact])
        : part('unknown', index < 8 ? 'LOST' : 'TEN', [contact]),
    );
    await batch.settle(chunk, { accepted: 0, failed: await Promise.all(failed) });
  }
  return { ...batch, groups: keysOf(prefix, 'default').batch('b').groups };
}

const contextOf = ({ ledger }: BuiltBatch, client = redis.client) => ({
  ledger,
  redis: client,
  sealing: NO_SEALING,
});

const digest = async (batch: BuiltBatch) => digestFailures(contextOf(batch), await batch.read());

/** State, code, contacts and parts of each group. */
const sumsOf = async (batch: BuiltBatch) =>
  (await digest(batch)).groups.map(({ state, code, contacts: count, parts }) =>
    [state, code, count, parts].join(' '),
  );

/** Names of the failures with a code. */
async function namesOf(batch: BuiltBatch, code: string): Promise<string[]> {
  const names: string[] = [];
  for await (const failure of batch.ledger.failures('b')) {
    if (failure.code === code) names.push(failure.name);
  }
  return names.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
}

/** The commands of a digest, by name, which the server of a batch has run. */
async function costOf(
  url: string,
  client: Redis,
  batch: BuiltBatch,
): Promise<Record<string, number>> {
  await digest(batch);
  const stored = await batch.read();
  const before = new Map(await commandsByName(url));
  await digestFailures(contextOf(batch, client), stored);
  const after = await commandsByName(url);
  const made = after.map(([name, calls]) => [name, calls - (before.get(name) ?? 0)] as const);
  return Object.fromEntries(made.filter(([, calls]) => calls > 0));
}

describe('the failures of a batch by state and code', () => {
  it('are read with the same five commands for 20 failures and for 3,000', async () => {
    const expected = { time: 1, hvals: 1, hget: 3 };
    // Of its own: a server that REDIS_URL names has other callers.
    const server = await startRedisServer();
    const client = new Redis(server.url);
    try {
      for (const chunks of [2, 300]) {
        const batch = await failedBatch(chunks, client);
        expect(await costOf(server.url, client, batch)).toEqual(expected);
      }
    } finally {
      client.disconnect();
      await server.close();
    }
  }, 60_000);

  it('are complete, each group with its message and a masked example', async () => {
    const batch = await failedBatch(3);
    expect(await digest(batch)).toEqual({
      at: expect.any(Number) as number,
      groups: [
        {
          state: 'rejected',
          code: 'BAD',
          contacts: 12,
          parts: 12,
          message: 'about BAD',
          example: { contact: '010******00', var1: expect.any(String) as string },
        },
        {
          state: 'unknown',
          code: 'LOST',
          contacts: 12,
          parts: 12,
          message: 'about LOST',
          example: { contact: '010******04', var1: expect.any(String) as string },
        },
        {
          state: 'unknown',
          code: 'TEN',
          contacts: 6,
          parts: 6,
          message: 'about TEN',
          example: { contact: '010******08', var1: expect.any(String) as string },
        },
      ],
    });
  });

  it('follow what is sent again, decided on and divided', async () => {
    const batch = await failedBatch(2);
    const [bad = ''] = await namesOf(batch, 'BAD');
    const [lost = ''] = await namesOf(batch, 'LOST');
    expect(await batch.ledger.redrive('b', bad, 'rejected')).toBe('redriven');
    expect(await batch.ledger.resolve('b', lost, 'accepted')).toBe(true);
    expect(await sumsOf(batch)).toEqual([
      'rejected BAD 7 7',
      'unknown LOST 7 7',
      'unknown TEN 4 4',
    ]);
    const chunk = (await batch.read()).chunks - 1;
    await batch.settle(chunk, allFailed('unknown', 'NEW', ''));
    for (const name of await namesOf(batch, 'TEN'))
      await batch.ledger.resolve('b', name, 'cancelled');
    expect(await sumsOf(batch)).toEqual([
      'rejected BAD 7 7',
      'unknown LOST 7 7',
      'unknown NEW 1 1',
    ]);
    expect(await groupFailures(batch.ledger, await batch.read(), { code: 'NEW' })).toEqual([
      { state: 'unknown', code: 'NEW', contacts: 1, parts: 1, message: '' },
    ]);
  });

  it('of a cancelled batch include what was pending then', async () => {
    const prefix = redis.freshPrefix();
    const lists = [contacts(CHUNK_SIZE), contacts(CHUNK_SIZE, 10), contacts(CHUNK_SIZE, 20)];
    const batch = await buildBatch(redis.client, prefix, 'b', lists);
    await batch.settle(0, allFailed('unknown', 'LOST', 'm'));
    await batch.settle(1, allBack(true));
    await batch.ledger.control('b', 'cancel');
    expect(await batch.ledger.failureSums('b')).toHaveLength(1);
    expect((await sumsOf(batch)).toSorted()).toEqual([
      'cancelled CANCELLED 10 0',
      'unknown LOST 10 1',
      'unknown OUTCOME_UNKNOWN 10 0',
    ]);
  });
});
