import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import type { Batch } from '../../../src/batch/ledger/batch-record.ts';
import type { FailureGroup } from '../../../src/batch/failures/failures.ts';
import { allAccepted, allFailed } from '../../../src/batch/ledger/settlement.ts';
import { buildBatch, contacts, part } from '../../batch/support/built-batch.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
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
    await watching.says(/"event":"sending".*"importStopped":true/);
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

describe('notices failures', () => {
  it('a summary without numbers; with --csv the contacts', async () => {
    const prefix = redis.freshPrefix();
    await halfFailed(prefix);
    const env = envOf(prefix);
    const words = await run(['failures', 'b'], env);
    expect(words.stdout).toMatch(/^ {2}rejected +BAD_NUMBER +2 /m);
    expect(words.stdout).not.toMatch(NUMBER);
    const json = await run(['failures', 'b', '--state', 'unknown', '--json'], env);
    expect(JSON.parse(json.stdout)).toMatchObject({
      groups: [{ state: 'unknown', code: 'HTTP_500', contacts: 1 }],
    });
    const csv = await run(['failures', 'b', '--csv', '--code', 'BAD_NUMBER'], env);
    expect([csv.code, csv.stderr]).toEqual([0, 'Exported 2 contacts.\n']);
    const rows = parse(csv.stdout, { columns: true });
    expect(rows).toMatchObject([
      { contact: '01000000010', rejected_state: 'rejected', rejected_code: 'BAD_NUMBER' },
      { contact: '01000000011', var1: 'value 11' },
    ]);
    const none = await run(['failures', 'b', '--csv', '--state', 'expired'], env);
    expect(none.stdout).toMatch(/^"contact",.*\n$/);
    expect(none.stderr).toBe('No contact matches.\n');
  });
});

const RESEND = ['decide', '--batch', 'b', '--as', 'resend'];

describe('notices decide on a batch', () => {
  it('shows what it would do, does nothing without a yes, and says what it did', async () => {
    const prefix = redis.freshPrefix();
    const built = await halfFailed(prefix);
    const env = envOf(prefix);
    const asks = await run(RESEND, env);
    expect([asks.code, asks.stdout]).toEqual([2, '']);
    expect(asks.stderr).toMatch(/^ {2}rejected +BAD_NUMBER +2 /m);
    expect(asks.stderr).toContain('Send 2 contacts of batch b again? There is no terminal');
    expect((await built.read()).counts.pending).toBe(0);
    const none = await run([...RESEND, '--code', 'OTHER'], env);
    expect([none.code, none.stdout]).toEqual([0, 'Nothing was done.\n']);
    const json = await run([...RESEND, '--yes', '--json'], env);
    const done = { done: 1, contacts: 2, gone: 0, complete: true };
    expect([json.code, JSON.parse(json.stdout)]).toMatchObject([0, done]);
    expect((await built.read()).counts).toMatchObject({ pending: 2, rejected: 0, unknown: 1 });
    const unknown = await run([...RESEND, '--state', 'unknown', '--yes'], env);
    expect(unknown.stdout).toMatch(/^1 contact will be sent again\.$/m);
    expect((await built.read()).counts).toMatchObject({ pending: 3, unknown: 0 });
  });

  it('stopped by Ctrl-C: exit code 1, and the rest is left', async () => {
    const prefix = redis.freshPrefix();
    const built = await buildBatch(redis.client, prefix, 'b', [contacts(20), contacts(20, 20)]);
    for (const chunk of [0, 1]) await built.settle(chunk, allFailed('rejected', 'BAD', ''));
    const redriving = start([...RESEND, '--rate', '1', '--yes'], envOf(prefix));
    const begun = async () => (await built.read()).counts.rejected === 20;
    await until(begun, { what: 'the first chunk to be sent again' });
    redriving.stop('SIGINT');
    const { code, stdout } = await redriving.ended;
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(
        /^20 contacts .* again\.\nNot all .* tried\.\nStopped\. Run the command again for the rest\./,
      ),
    ]);
    expect(stdout).not.toContain('--limit');
  });

  it('a batch that is paused is refused without doing anything; a limit below a chunk is named', async () => {
    const prefix = redis.freshPrefix();
    const built = await buildBatch(redis.client, prefix, 'b', [contacts(2), contacts(1, 10)]);
    await built.settle(0, allFailed('rejected', 'BAD_NUMBER', ''));
    const env = envOf(prefix);
    const limited = await run([...RESEND, '--yes', '--limit', '1'], env);
    expect(limited.stdout).toMatch(/^Nothing was done\.\n.*\nA chunk is .* --limit /);
    await built.ledger.control('b', 'pause');
    const refused = await run([...RESEND, '--yes'], env);
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(/^NOT_POSSIBLE: Batch b cannot be sent again: it is paused/);
    expect((await built.read()).counts).toMatchObject({ rejected: 2 });
  });

  it('leaves what fails while it asks', async () => {
    const prefix = redis.freshPrefix();
    const built = await buildBatch(redis.client, prefix, 'b', [contacts(2), contacts(2, 10)]);
    await built.settle(0, allFailed('rejected', 'BAD_NUMBER', ''));
    const running = start(RESEND, envOf(prefix), true);
    await matching(() => running.stderr(), /Send 2 contacts of batch b again\?/);
    await built.settle(1, allFailed('rejected', 'BAD_NUMBER', ''));
    running.stdin.write('y\n');
    expect(await running.ended).toMatchObject({ code: 0 });
    expect((await built.read()).counts).toMatchObject({ rejected: 2, pending: 2 });
  });
});
