import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { freePort } from '../../../scripts/redis/free-port.ts';
import { exitCodeFor } from '../../../src/cli/doctor/doctor.ts';
import { examineConfig } from '../../../src/cli/doctor/examine.ts';
import { startEmulator, type Emulator } from '../../../src/emulator/emulator.ts';
import type { EmulatorOptions } from '../../../src/emulator/options.ts';
import {
  cancelled,
  CHECKS,
  fail,
  ok,
  skip,
  warn,
  type Finding,
} from '../../../src/doctor/finding.ts';
import { keysOf, pairName } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';
import { writeState } from '../../token/support/write-state.ts';
import { EVERY_RIGHT } from '../../support/redis-users.ts';
import { clockProxy } from '../../support/redis-proxy.ts';
import { run, start, STACK, type Ended, type Env } from '../support/run.ts';
import { serviceEnv } from '../../emulator/running.ts';

// Each of them starts several processes, one after the other.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const redis = testRedis();
const NUMBER = '01077778888';

interface Report {
  readonly worst: string;
  readonly findings: readonly Finding[];
}

async function emulatorWith(options: EmulatorOptions = {}): Promise<Emulator> {
  const emulator = await startEmulator(options);
  onTestFinished(() => emulator.close());
  return emulator;
}

function envOf(emulator: Emulator, more: Env = {}): Env {
  return {
    REDIS_URL: redis.url,
    REDIS_PREFIX: redis.freshPrefix(),
    ...serviceEnv(emulator.url),
    PAYLOAD_KEY: '42'.repeat(32),
    ...more,
  };
}

async function doctor(env: Env, ...flags: readonly string[]): Promise<Ended & { report: Report }> {
  const ended = await run(['doctor', '--json', ...flags], env);
  expect(ended.stderr).toBe('');
  expect(ended.stdout).not.toMatch(STACK);
  expect(ended.stdout).not.toContain('emulator-secret-key');
  expect(ended.stdout).not.toContain(NUMBER);
  return { ...ended, report: JSON.parse(ended.stdout) as Report };
}

const find = ({ report }: { report: Report }, check: string) =>
  report.findings.find((one) => one.check === check);
const saying = (words: string) => expect.stringContaining(words) as string;

describe('notices doctor', () => {
  it('runs all checks, and leaves nothing behind', async () => {
    const emulator = await emulatorWith();
    const env: Env = { ...envOf(emulator), ...EVERY_RIGHT };
    const { code, report } = await doctor(env);
    // The test's Redis keeps nothing on disk, and no worker runs.
    expect([code, report.worst]).toEqual([0, 'warn']);
    expect(report.findings.map(({ check }) => check)).toEqual([...CHECKS]);
    for (const [check, level] of [
      ['redis.persistence', 'warn'],
      ['queue.workers', 'warn'],
      ['config', 'ok'],
      ['redis.policy', 'ok'],
      ['redis.clock', 'ok'],
      ['service.token', 'ok'],
    ] as const) {
      expect([check, find({ report }, check)?.level]).toEqual([check, level]);
    }
    expect(emulator.record().contacts).toBe(0);
    const left = (await redis.keys(env['REDIS_PREFIX'])).filter((key) => !key.includes(':token:'));
    expect(left).toEqual([]);
  });

  it('issues one token for the fleet if there is none, and none if there is a valid one', async () => {
    const emulator = await emulatorWith();
    const env = envOf(emulator);
    const issued = () => emulator.record().tokens.issued;
    const first = await doctor(env);
    expect(find(first, 'service.token')?.says).toMatch(/^a token was issued in \d+ ms/);
    const second = await doctor(env);
    expect(find(second, 'service.token')?.says).toContain('none was issued now');
    expect(issued()).toBe(1);
  });

  it.each([
    [
      'is refused to the fleet: fail',
      { refusal: { code: 'INVALID_ACCESS_KEY', ageMs: 1, restMs: 60_000 } },
      { level: 'fail', says: saying('INVALID_ACCESS_KEY') },
    ],
    [
      'is issued by another process: warn',
      { lock: 60_000 },
      { level: 'warn', says: saying('another process') },
    ],
    [
      'dies early: warn',
      { token: { id: 'a1', ageMs: 1, fence: 1 }, issued: Array.from({ length: 201 }, () => 1) },
      { level: 'warn', says: saying('201 tokens were issued') },
    ],
  ] as const)('a token that %s, and none is issued', async (_, state, found) => {
    const emulator = await emulatorWith();
    const env = envOf(emulator);
    const names = { accessKey: 'emulator-access-key', secretKey: 'emulator-secret-key' };
    const pair = { ...names, baseUrl: emulator.url };
    const keys = keysOf(env['REDIS_PREFIX'] ?? '', 'default').token(pairName(pair));
    await writeState(redis.client, keys, state);
    expect(find(await doctor(env), 'service.token')).toMatchObject(found);
    expect(emulator.record().tokens.issued).toBe(0);
  });

  it('as text: one line per finding, its fix below it, and a summary', async () => {
    const env = { REDIS_URL: redis.url, REDIS_PREFIX: redis.freshPrefix() };
    const { code, stdout } = await run(['doctor'], env);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ok {4}redis\.policy +noeviction/m);
    expect(stdout).toMatch(/^warn {2}queue\.workers .*\n +fix: run "notices worker"$/m);
    expect(stdout).toMatch(/^skip {2}service\.token .*SECRET_KEY are not set$/m);
    expect(stdout).toMatch(/\n0 problems and \d warnings? found\.\n$/);
  });

  it('warns where stored contacts are not encrypted, or need not be', async () => {
    const env = { REDIS_URL: redis.url, REDIS_PREFIX: redis.freshPrefix() };
    const key = { PAYLOAD_KEY: '42'.repeat(32) };
    const found = async (more: Env) => find(await doctor({ ...env, ...more }), 'config');
    expect(await found({})).toMatchObject({
      level: 'warn',
      says: saying('PAYLOAD_KEY is not set'),
    });
    expect(await found(key)).toMatchObject({ level: 'ok' });
  });
});

describe('notices doctor with problems', () => {
  it('the address is refused: which one the service saw, where it says so', async () => {
    const refused = await doctor(envOf(await emulatorWith({ allowlist: ['203.0.113.0/24'] })));
    expect(refused.code).toBe(1);
    const remedy = saying('allowlist');
    expect(find(refused, 'service.token')).toMatchObject({ level: 'fail', remedy });
    expect(find(refused, 'service.address')?.says).toContain('does not report which address');

    const body = { code: 'IP_NOT_ALLOWED', message: 'Caller 203.0.113.7 is not allowed.' };
    const telling = await emulatorWith({ faults: [{ on: 'token', status: 403, body }] });
    expect(find(await doctor(envOf(telling)), 'service.address')).toMatchObject({
      level: 'fail',
      says: 'the service refuses the address 203.0.113.7 of this machine',
    });
  });

  it('the secret is wrong: said, and nothing is remembered that would hold the fleet', async () => {
    const emulator = await emulatorWith();
    const env = envOf(emulator, { SECRET_KEY: 'CANARY-wrong' });
    const wrong = await doctor(env);
    expect(wrong.code).toBe(1);
    expect(find(wrong, 'service.token')?.says).toContain('INVALID_ACCESS_KEY');
    expect(wrong.stdout).not.toContain('CANARY');
    const keys = await redis.keys(env['REDIS_PREFIX']);
    expect(keys.filter((key) => key.endsWith(':refused'))).toEqual([]);
    // Another secret is another key pair, with a token of its own.
    const right = { ...env, SECRET_KEY: 'emulator-secret-key' };
    expect((await doctor(right)).code).toBe(0);
    const again = await doctor(env);
    expect(find(again, 'service.token')?.says).toContain('INVALID_ACCESS_KEY');
    expect(find(await doctor(right), 'service.token')?.says).toContain('none was issued now');
    expect(emulator.record().tokens.issued).toBe(1);
  });

  it('Redis is away: exit code 3, the rest is not looked at', async () => {
    const emulator = await emulatorWith();
    const env = envOf(emulator, { REDIS_URL: `redis://127.0.0.1:${await freePort()}` });
    const ended = await doctor(env);
    expect(ended.code).toBe(3);
    expect(find(ended, 'redis.connection')).toMatchObject({ level: 'fail' });
    const others = ended.report.findings.filter(({ level }) => level === 'skip');
    expect(others).toHaveLength(CHECKS.length - 2);
    expect(emulator.record().tokens.issued).toBe(0);
  });

  it('the clock is off', async () => {
    const url = await clockProxy(redis.url, 40);
    const ended = await doctor({ REDIS_URL: url, REDIS_PREFIX: redis.freshPrefix() });
    const says = expect.stringMatching(/4\d\.\d s ahead of/) as string;
    expect(find(ended, 'redis.clock')).toMatchObject({ level: 'fail', says });
    expect(ended.code).toBe(1);
  });

  it('invalid configuration: exit code 2, each value named, no other checks', async () => {
    const ended = await doctor({ CONCURRENCY: '0', REDIS_URL: 'CANARY' });
    expect(ended.code).toBe(2);
    expect(ended.report.findings.map(({ check, level }) => [check, level])).toEqual([
      ['config', 'fail'],
      ['config', 'fail'],
    ]);
    expect(ended.stdout).toContain('CONCURRENCY expected a whole number');
    expect(ended.stdout).not.toContain('CANARY');
  });

  it.each([
    [{ BASE_URL: 'http://emulator:4010', INSECURE_HOSTS: 'Emulator' }, 'warn', 'emulator'],
    [
      {
        REDIS_URL: 'redis://:CANARY@Redis.example.test:6379',
        INSECURE_HOSTS: 'redis.example.test',
      },
      'warn',
      'Redis.example.test',
    ],
    [{ BASE_URL: 'http://127.0.0.1:4010', INSECURE_HOSTS: 'emulator' }, 'ok', ''],
  ])('plain connections to other hosts are warned of: %j', (env, level, host) => {
    const keys = { ACCESS_KEY: 'a', SECRET_KEY: 's', PAYLOAD_KEY: '42'.repeat(32) };
    const [config] = examineConfig({ ...keys, BASE_URL: 'https://service.test', ...env });
    expect(config).toMatchObject({ check: 'config', level, says: saying(host) });
    expect(config?.says).not.toContain('CANARY');
  });
});

it.each([
  [[ok('config', '')], false, 0],
  [[warn('redis.latency', '', '')], false, 0],
  [[warn('redis.latency', '', '')], true, 1],
  [[skip('service.address', '')], true, 0],
  [[ok('config', ''), cancelled('queue.hold')], false, 1],
  [[fail('redis.connection', '', ''), cancelled('queue.hold')], false, 3],
  [[fail('queue.hold', '', '')], false, 1],
  [[fail('queue.hold', '', ''), fail('redis.connection', '', '')], false, 3],
  [[fail('config', '', ''), fail('redis.connection', '', '')], false, 2],
] as const)('exit code of %j, strict %s: %d', (findings, strict, code) => {
  expect(exitCodeFor(findings, strict)).toBe(code);
});

it('Ctrl-C while the token is issued: the checks that are left are not made', async () => {
  const examining = start(['doctor'], envOf(await emulatorWith({ latencyMs: 1_000 })));
  await examining.says(/redis\.clock/);
  examining.stop('SIGINT');
  const { code, stdout, stderr } = await examining.ended;
  expect([code, stderr]).toEqual([1, '']);
  expect(stdout).toMatch(/^skip +queue\.hold +cancelled$/m);
  expect(stdout).toMatch(/^Stopped: 8 checks were not made\./m);
});
