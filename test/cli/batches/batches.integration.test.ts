import { describe, expect, it } from 'vitest';
import type { Batch } from '../../../src/batch/ledger/batch-record.ts';
import type { FailureGroup } from '../../../src/batch/failures/failures.ts';
import { allAccepted } from '../../../src/batch/ledger/settlement.ts';
import { buildBatch, contacts, part } from '../../batch/support/built-batch.ts';
import { testRedis } from '../../support/redis.ts';
import { matching, run, start, type Env } from '../support/run.ts';

const redis = testRedis();
const envOf = (prefix: string): Env => ({ REDIS_URL: redis.url, REDIS_PREFIX: prefix });

/** A number that must not stand in anything but an export. */
const NUMBER = /0100\d{7}/;

interface Shown {
  readonly batch: Batch;
  readonly standstill?: string;
  readonly failures: readonly FailureGroup[];
}

/** 2 chunks of 10: 17 accepted, 2 rejected, 1 unknown. */
async function halfFailed(prefix: string, id = 'b') {
  const built = await buildBatch(redis.client, prefix, id, [contacts(10), contacts(10, 10)]);
  await built.settle(0, allAccepted());
  const failed = [
    await part('rejected', 'BAD_NUMBER', contacts(2, 10)),
    await part('unknown', 'HTTP_500', contacts(1, 12)),
  ];
  await built.settle(1, { accepted: 7, failed });
  return built;
}

describe('notices batches', () => {
  it('lists what is kept, the newest first, and says what to do when there is none', async () => {
    const prefix = redis.freshPrefix();
    const empty = await run(['batches'], envOf(prefix));
    expect([empty.code, empty.stderr]).toEqual([0, '']);
    expect(empty.stdout).toContain('notices import FILE');
    await buildBatch(redis.client, prefix, 'older', [contacts(10)]);
    await halfFailed(prefix, 'newer');
    const words = await run(['batches'], envOf(prefix));
    expect(words.stdout).toMatch(/^newer +finished .* T +20 +0 +17 +2 +1 +0 +0 +0$/m);
    expect(words.stdout).toMatch(/^older +sending .* T +10 +10 +0 /m);
    const json = await run(['batches', '--limit', '1', '--json'], envOf(prefix));
    const { batches, next } = JSON.parse(json.stdout) as { batches: Batch[]; next: number };
    expect([batches.map(({ id }) => id), next]).toEqual([['newer'], 1]);
  });
});

describe('notices batch', () => {
  it('states that add up, failures by code, and what to do next', async () => {
    const prefix = redis.freshPrefix();
    await halfFailed(prefix);
    const words = await run(['batch', 'b'], envOf(prefix));
    expect([words.code, words.stderr]).toEqual([0, '']);
    expect(words.stdout).toMatch(/^phase +finished/m);
    expect(words.stdout).toMatch(/^import +finished, 2 rows rejected, 3 duplicates$/m);
    expect(words.stdout).toMatch(/^contacts +20$/m);
    expect(words.stdout).toMatch(/^ {2}accepted +17$/m);
    expect(words.stdout).toMatch(/^ {2}rejected +BAD_NUMBER +2 +about BAD_NUMBER$/m);
    expect(words.stdout).toContain('notices decide --batch b --as resend');
    expect(words.stdout).not.toMatch(NUMBER);
    const json = await run(['batch', 'b', '--json'], envOf(prefix));
    const { batch, failures } = JSON.parse(json.stdout) as Shown;
    const { total, pending, accepted, rejected, unknown, expired, cancelled } = batch.counts;
    expect(pending + accepted + rejected + unknown + expired + cancelled).toBe(total);
    expect(failures.map(({ code, contacts }) => [code, contacts])).toEqual([
      ['BAD_NUMBER', 2],
      ['HTTP_500', 1],
    ]);
    expect(json.stdout).not.toMatch(NUMBER);
  });
});

describe('notices batch --watch', () => {
  it.each(['bad id', '{a}:b', '', 'new:failures'])('refuses the id "%s" as usage', async (id) => {
    const watching = start(['batch', id, '--watch'], envOf(redis.freshPrefix()));
    const { code, stdout, stderr } = await watching.ended;
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('<id>: expected 1 to 64 letters, digits, hyphens or underscores');
  });

  it('follows until all is settled, then shows the whole; the reason why it is not sending is written once', async () => {
    const prefix = redis.freshPrefix();
    const built = await buildBatch(redis.client, prefix, 'b', [contacts(10), contacts(10, 10)]);
    await built.settle(0, allAccepted());
    const watching = start(['--json', 'batch', 'b', '--watch'], envOf(prefix));
    await watching.says(/"event":"sending".*"accepted":10,.*"standstill":"no worker/);
    await built.settle(1, allAccepted());
    const { code, stdout } = await watching.ended;
    expect(code).toBe(0);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Shown & { event: string });
    expect(lines.at(-1)).toMatchObject({ event: 'batch', failures: [] });
    expect(lines.at(-1)?.batch.counts.accepted).toBe(20);
  });

  it('goes on where an import stopped: it may be continued', async () => {
    const prefix = redis.freshPrefix();
    const built = await buildBatch(redis.client, prefix, 'b', [contacts(10)], { importing: true });
    await built.settle(0, allAccepted());
    const watching = start(['--json', 'batch', 'b', '--watch'], envOf(prefix));
    await watching.says(/"event":"sending".*"continueImport":"notices import/);
    await built.ledger.endImport('b', 0, 0);
    expect((await watching.ended).stdout).toMatch(/"event":"batch".*"phase":"finished"/);
  });

  it('in words; Ctrl-C ends the watching and not the batch', async () => {
    const prefix = redis.freshPrefix();
    const built = await buildBatch(redis.client, prefix, 'b', [contacts(10)]);
    const watching = start(['batch', 'b', '--watch'], envOf(prefix));
    await matching(() => watching.stderr(), /sending .* 0 of 10/);
    watching.stop('SIGINT');
    const { code, stdout, stderr } = await watching.ended;
    expect(code).toBe(0);
    expect(stderr.match(/Not sending/g)).toHaveLength(1);
    expect(stdout).toMatch(/^phase +sending/m);
    expect((await built.read()).phase).toBe('sending');
  });
});
