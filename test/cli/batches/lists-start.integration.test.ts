import { describe, expect, it } from 'vitest';
import { writeInstant } from '../../../src/format/time.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { until } from '../../support/wait.ts';
import { listWorlds } from '../support/list-world.ts';
import { run, start } from '../support/run.ts';

const { redis, file, world } = listWorlds();
const ROWS = Array.from({ length: 400 }, (_, row) => `0101${String(row).padStart(7, '0')}\n`);
const LONG = file('long.csv', `contact\n${ROWS.join('')}`);
const IMPORT = `import ${LONG} --template COUPON`;

function own() {
  const { prefix, ledger } = world();
  const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
  const { bullPrefix } = keysOf(prefix, 'default');
  const jobs = () => redis.client.llen(`${bullPrefix}:chunks:wait`);
  const shown = async () => (await run('batch b', env)).stdout;
  const starts = async () => {
    const { batch } = JSON.parse((await run('batch b --json', env)).stdout) as {
      batch: Record<'startAt' | 'startMissedAt', number | null>;
    };
    return [batch.startAt, batch.startMissedAt];
  };
  return { prefix, ledger, env, jobs, shown, starts };
}

describe('on a terminal, an import asks before it sends', () => {
  it.each([
    ['', 'Send COUPON to 400 people, first now? [y/N]'],
    [' --rate 14', 'Send COUPON to 400 people, about 29 s at 14/s, first now? [y/N]'],
    [
      ' --start-at 2099-01-01T09:00:00+09:00',
      'Send COUPON to 400 people, first at 2099-01-01 00:00:00 UTC? [y/N]',
    ],
  ])('with %j', async (more, question) => {
    const { env, ledger } = own();
    const line = `${IMPORT} --batch b${more}`;
    const asked = start(line, env, true);
    await until(() => asked.stderr().includes(question), { what: 'the question' });
    expect(await ledger.read('b')).toBeUndefined();
    asked.stdin.write('n\n');
    const declined = await asked.ended;
    expect([declined.code, declined.stdout]).toEqual([1, '']);
    expect(declined.stderr).toContain('Nothing was done.');
    expect(await ledger.read('b')).toBeUndefined();
    const again = start(line, env, true);
    await until(() => again.stderr().includes(question), { what: 'the question' });
    again.stdin.write('y\n');
    expect((await again.ended).code).toBe(0);
    expect((await ledger.read('b'))?.counts.total).toBe(400);
  });

  it('but not with --yes, nor for a dry run or with --paused', async () => {
    for (const more of ['--yes', '--dry-run', '--paused']) {
      const { env } = own();
      const ended = await start(`${IMPORT} ${more}`, env, true).ended;
      expect([ended.code, ended.stderr.includes('[y/N]')]).toEqual([0, false]);
    }
  });
});

it('a paused list says who paused it, when and why', async () => {
  const { env, shown } = own();
  await run(`${IMPORT} --batch b`, env);
  await run(['pause', 'b', '--why', 'call 010-2345-6789'], env);
  expect(await shown()).toMatch(/^paused +by \S+ .*: call 010-2345-6789$/m);
  type Paused = { readonly paused?: unknown };
  const jsonOf = async (line: string) =>
    JSON.parse((await run(`${line} --json`, env)).stdout) as {
      readonly batch: Paused;
      readonly batches: { readonly openBatches: readonly Paused[] };
    };
  const paused = { who: expect.any(String) as string, at: expect.any(Number) as number };
  const { batch } = await jsonOf('batch b');
  expect(batch.paused).toEqual({ ...paused, why: 'call 010-2345-6789' });
  const { batches } = await jsonOf('status');
  // Any role reads the status.
  expect(batches.openBatches[0]?.paused).toEqual({ ...paused, why: 'call [number]' });
  expect((await run('status', env)).stdout).toMatch(
    /continues it; paused by \S+ .*: call \[number\]$/m,
  );
  await run('resume b', env);
  expect(await shown()).not.toMatch(/^paused /m);
});

it('--paused stores a list, and resume starts it', async () => {
  const { env, ledger, jobs, shown } = own();
  const { stdout } = await run(`${IMPORT} --batch b --paused`, env);
  expect(stdout).toMatch(/^Nothing is sent yet: "notices resume b" starts it\.$/m);
  expect(await ledger.read('b')).toMatchObject({ phase: 'paused', counts: { pending: 400 } });
  expect(await jobs()).toBe(0);
  expect(await shown()).toMatch(/it is paused; "notices resume b"/);
  await run('resume b', env);
  expect((await ledger.read('b'))?.phase).toBe('sending');
  expect((await ledger.chunksWithoutJob('b', 10, 0))?.chunks).toHaveLength(1);
});

describe('--start-at', () => {
  it('waits for its time; then a look at the batch starts it', async () => {
    const { env, ledger, jobs, shown, starts } = own();
    const at = Date.now() + 2_000;
    const time = new Date(at).toISOString();
    const { stdout } = await run(`${IMPORT} --batch b --start-at ${time}`, env);
    expect(stdout).toContain(`\nIt starts at ${writeInstant(at)}.\n`);
    expect(await ledger.read('b')).toMatchObject({ phase: 'paused', startAt: at });
    expect(await shown()).toContain(`it starts at ${writeInstant(at)}`);
    expect([await jobs(), await ledger.chunksWithoutJob('b', 10, 0)]).toEqual([0, undefined]);
    expect(await ledger.takeOpen(1_000)).toBeUndefined();
    await until(async () => (await ledger.takeOpen(1_000))?.id === 'b', { what: 'its time' });
    expect((await ledger.chunksWithoutJob('b', 10, 0))?.chunks).toHaveLength(1);
    expect(await ledger.read('b')).toMatchObject({ phase: 'sending', startAt: 0 });
    expect(await starts()).toEqual([null, null]);
  });

  it('that is missed by more than an hour waits for a person', async () => {
    const { prefix, env, ledger, shown, starts } = own();
    await run(`${IMPORT} --batch b --start-at 2099-01-01T00:00:00Z`, env);
    expect(await starts()).toEqual([Date.parse('2099-01-01T00:00:00Z'), null]);
    const { record } = keysOf(prefix, 'default').batch('b');
    const late = Date.now() - 3_700_000;
    await redis.client.hset(record, 'startAt', late);
    expect(await ledger.chunksWithoutJob('b', 10, 0)).toBeUndefined();
    expect(await ledger.read('b')).toMatchObject({ phase: 'paused', startMissedAt: late });
    expect(await starts()).toEqual([null, late]);
    expect(await shown()).toMatch(/was missed by more than an hour; "notices resume b"/);
    await run('resume b', env);
    expect(await ledger.read('b')).toMatchObject({ phase: 'sending', startMissedAt: 0 });
  });

  it('is forgotten with a pause', async () => {
    const { env, ledger, shown } = own();
    await run(`${IMPORT} --batch b --start-at 2099-01-01T00:00:00Z`, env);
    await run('pause b', env);
    expect(await ledger.read('b')).toMatchObject({ phase: 'paused', startAt: -1 });
    expect(await shown()).toContain('it is paused');
  });

  it.each([
    ['--start-at 2020-01-01T00:00:00Z', '--start-at: expected'],
    [
      '--start-at 2099-01-01T00:00:00Z --paused',
      '--start-at: expected only one of --start-at and --paused',
    ],
    ['--again --only-new', '--only-new: expected only one of --again and --only-new'],
    ['--rate 5 --spread 1h', '--spread: expected only one of --rate and --spread'],
    ['--no-header', '--map: expected positions of columns, such as contact=1, because the list'],
    [
      '--start-at 2099-01-02T00:00:00Z --expires 2099-01-01T00:00:00Z',
      '--expires: expected a time after --start-at',
    ],
  ])('is refused with %j', async (more, field) => {
    const { code, stderr } = await run(`${IMPORT} ${more}`, own().env);
    expect([code, stderr]).toEqual([2, expect.stringContaining(field)]);
  });
});
