import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../scripts/redis/free-port.ts';
import type { Emulator } from '../../src/emulator/emulator.ts';
import { NoticeQueue } from '../../src/index.ts';
import { startProcess } from '../cli/support/process.ts';
import { run, type Env } from '../cli/support/run.ts';
import { emulatorWith, serviceEnv } from '../emulator/running.ts';
import { startOps } from '../ops/web/support/ops-bench.ts';
import { numbers } from '../support/fleet.ts';
import { until } from '../support/wait.ts';
import { documentedLines, type User } from '../support/redis-users.ts';
import { aclRedis } from './support/acl-redis.ts';

const redis = aclRedis();
const FIND_KEY = 'a'.repeat(64);
const [FIRST = '', SECOND = '', BAD = '', ERASED = '', ...LIST] = numbers(41);
const notice = (contact: string) => ({ templateCode: 'T', contacts: [{ contact }] });

function envOf(user: User, emulator?: Emulator): Env {
  return {
    ...redis.envOf(user),
    FIND_KEY,
    ...(emulator === undefined ? {} : serviceEnv(emulator.url)),
  };
}

function queueOf(user: User): NoticeQueue {
  const { REDIS_URL: url, REDIS_USERNAME: username, REDIS_PASSWORD: password } = redis.envOf(user);
  const queue = new NoticeQueue({ redis: { url, username, password }, findKey: FIND_KEY });
  onTestFinished(() => queue.close());
  return queue;
}

/** Runs commands, written with bars between them, one after the other; each must succeed. */
async function runAll(env: Env, ...lines: readonly string[]): Promise<void> {
  for (const command of lines.flatMap((line) => line.split(' | '))) {
    const { code, stderr } = await run(command.split(' '), env);
    expect([command, code, code === 0 ? '' : stderr]).toEqual([command, 0, '']);
  }
}

/** Starts a worker. @returns the URL of its metrics */
async function startWorker(emulator: Emulator): Promise<string> {
  const port = await freePort();
  const worker = startProcess(['worker'], {
    ...envOf('worker', emulator),
    HEARTBEAT_MS: '200',
    RATE_LIMIT: '500',
    HEALTH_ADDRESS: `${port}`,
    EVENT_WEBHOOK_URL: `${emulator.url}/alerts`,
    EVENT_WEBHOOK_SECRET: 'a secret of at least sixteen',
  });
  await worker.says(/"event":"started"/);
  return `http://127.0.0.1:${port}/metrics`;
}

it('the documented lines are those of the ACL file', () => {
  const file = readFileSync('deploy/redis/users.acl', 'utf8').trim().split('\n');
  expect(documentedLines()).toEqual(file);
});

describe('each program as the user of its kind, with nothing refused', () => {
  it('a producer: send, look up, cancel', async () => {
    const queue = queueOf('producer');
    const { id } = await queue.send(notice(FIRST), { idempotencyKey: 'k' });
    await queue.sendMany([notice(SECOND), notice(SECOND)]);
    const { duplicate } = await queue.send(notice(FIRST), { idempotencyKey: 'k' });
    expect(duplicate).toBe(true);
    expect(await queue.get(id)).toMatchObject({ state: 'pending' });
    expect(await queue.get({ idempotencyKey: 'k' })).toMatchObject({ id });
    const { id: later } = await queue.send(notice(SECOND), { delay: 60_000, priority: 3 });
    expect(await queue.cancel(later, { releaseKey: true })).toMatchObject({ cancelled: true });
    await runAll(envOf('producer'), `send --template T --contact ${FIRST}`);
    expect(await redis.refused()).toEqual([]);
  });

  it('an importer: import, and read batches', async () => {
    const queue = queueOf('importer');
    const contacts = LIST.map((contact) => ({ contact }));
    await queue.import(contacts, { templateCode: 'T', batchId: 'imported', chunkSize: 7 });
    const slow = { templateCode: 'T', batchId: 'slow', rate: 5, again: true };
    await queue.import(contacts.slice(1), slow);
    const csv = `contact\n${FIRST}\nnot-a-number\n`;
    const command = 'import - --format csv --template T --batch csv --json'.split(' ');
    const imported = await run(command, envOf('importer'), csv);
    expect(imported.code).toBeLessThan(2);
    await runAll(envOf('importer'), 'batches | batch imported');
    expect(await redis.refused()).toEqual([]);
  });

  it('a worker: notices and batches of both policies, a new token, a rejection, a hold', async () => {
    const emulator = await emulatorWith({ rejectContacts: [BAD] });
    emulator.addFault({ on: 'send', status: 503, times: 1, retryAfter: 1 });
    emulator.addFault({ on: 'send', reset: 'after-acting', containing: '"ONCE"', times: 1 });
    const metrics = await startWorker(emulator);
    const queue = queueOf('producer');
    await queue.send(notice(BAD));
    await queue.send({ ...notice(SECOND), templateCode: 'ONCE' }, { delivery: 'at-most-once' });
    const importer = queueOf('importer');
    const list = [{ contact: FIRST }, { contact: BAD }, ...LIST.map((contact) => ({ contact }))];
    await importer.import(list, { templateCode: 'U', batchId: 'bisected' });
    await importer.import(list, { templateCode: 'V', batchId: 'once', delivery: 'at-most-once' });
    const isDone = async (id: string) => {
      const { stdout } = await run(['batch', id, '--json'], envOf('ops', emulator));
      return /"phase":\s*"(?:finished|ended|done)/.test(stdout);
    };
    expect((await fetch(metrics)).status).toBe(200);
    // The health check of the image.
    await runAll(envOf('worker', emulator), `status --worker ${hostname()}`);
    for (const id of ['imported', 'bisected', 'once']) {
      await until(() => isDone(id), { what: `the batch ${id}`, deadlineMs: 60_000, everyMs: 200 });
    }
    for await (const { event } of importer.events({ from: '0' })) {
      expect(event).toMatch(/^(?:batch|contact)\./);
      break;
    }
    emulator.revokeTokens();
    await queue.send(notice(FIRST));
    await until(() => emulator.record().tokens.issued === 2, { what: 'another token' });
    const unknown = () => redis.admin.zcard('{notices:default}:ended:at:unknown');
    await until(async () => (await unknown()) === 1, { what: 'the unknown outcome' });
    expect(await redis.refused()).toEqual([]);
  }, 120_000);

  it('an operator: commands, and pages', async () => {
    const emulator = await emulatorWith();
    const env = envOf('ops', emulator);
    await queueOf('ops').import([{ contact: FIRST }], { templateCode: 'W', batchId: 'waits' });
    const { id } = await queueOf('ops').send(notice(SECOND));
    const later = { delay: 3_600_000, idempotencyKey: 'erased' };
    await queueOf('ops').send(notice(ERASED), later);
    await queueOf('ops').import([{ contact: ERASED }], { templateCode: 'W', batchId: 'erased' });
    await run(['pause', 'erased'], env);
    await runAll(
      env,
      'status | hold place --why test | hold | hold lift | rate-limit 50 | pause waits | resume waits',
      `cancel waits --yes | show ${id} | cancel ${id} --yes | failures | failures bisected`,
      'decide --batch bisected --as resend --yes | decide --single --as resend --yes',
      'decide --single --as discard --state rejected --yes | decide --single --as accepted --yes',
      `restored | audit | find ${FIRST} | erase ${ERASED} --yes`,
    );
    const { stdout } = await run(['doctor', '--json'], env);
    expect(stdout).not.toMatch(/NOPERM|permission/);

    const ops = await startOps(env['REDIS_URL'] ?? '', 'notices', env);
    const operator = await ops.operator();
    const pages = `/ /batches /batches/bisected /notices /notices/${id} /audit /queues/api/queues`;
    for (const page of [...pages.split(' '), '/api/v1/status']) {
      expect([page, (await operator.get(page)).status]).toEqual([page, 200]);
    }
    const found = await operator.post('/api/v1/find', { number: FIRST });
    expect(found.status).toBe(200);
    const sent = await ops.key('sender').post('/api/v1/notices', { notice: notice(FIRST) });
    expect([sent.status, sent.text]).toEqual([202, expect.anything()]);
    expect((await operator.post('/sign-out')).status).toBeLessThan(400);
    expect(await redis.refused()).toEqual([]);
  }, 60_000);
});

describe('a program as a user that it is not meant for', () => {
  it('names the missing keys: worker', async () => {
    const emulator = await emulatorWith();
    const worker = startProcess(['worker'], {
      ...envOf('worker', emulator),
      ...redis.envOf('producer'),
    });
    const [line] = await worker.says(/^.*"code":"NOPERM".*$/m);
    expect(line).toMatch(/"missing":"a key of \{notices:default\}:/);
  });

  it('names the missing keys: commands and pages', async () => {
    const env = { ...envOf('ops'), ...redis.envOf('importer') };
    const audit = await run(['audit'], env);
    expect([audit.code, audit.stderr]).toEqual([
      3,
      expect.stringMatching(/\{notices:default\}:audit/),
    ]);
    const ops = await startOps(env['REDIS_URL'] ?? '', 'notices', env);
    const page = await (await ops.operator()).get('/audit');
    expect([page.status, page.text]).toEqual([
      503,
      expect.stringMatching(/\{notices:default\}:audit/),
    ]);
    expect(page.text).not.toContain('in time');
  });
});

describe('a user cannot', () => {
  const KEY = (rest: string) => `{notices:default}:${rest}`;
  const words = (lines: string) => lines.split(' | ').map((line) => line.split(' '));
  const ADMIN = [
    ...words('KEYS * | FLUSHALL | CONFIG GET requirepass | ACL LIST | CLIENT LIST | SCRIPT FLUSH'),
    ...words('RANDOMKEY | GET of-another-program | GET {other:default}:secret | MONITOR'),
    ['EVAL', `return redis.call('GET', 'of-another-program')`, '0'],
    ['EVAL', `return redis.call('FLUSHALL')`, '0'],
    ['SCRIPT', 'LOAD', 'return 1'],
    ['FUNCTION', 'LOAD', 'REPLACE', "#!lua name=m\nredis.register_function('f', function() end)"],
    ...words('FUNCTION DELETE other | FUNCTION FLUSH | FCALL f 0 | CLIENT TRACKING ON BCAST'),
    ...words('CLIENT KILL TYPE normal | CLIENT PAUSE 1 | CLIENT NO-EVICT ON | SWAPDB 0 1'),
    ...words(`MIGRATE 127.0.0.1 1 ${KEY('secret')} 0 10 | COPY ${KEY('secret')} ${KEY('secret2')}`),
    ...words(`SORT ${KEY('counts')} | SHUTDOWN NOSAVE | REPLICAOF NO ONE`),
  ];
  const READS = `SCAN 0 | GET ${KEY('token:x')} | XLEN ${KEY('audit:reads')}`;
  const CASES: readonly (readonly [User, string[][]])[] = [
    ['producer', words(`${READS} | HGETALL ${KEY('batch:b')}`)],
    ['importer', words(`${READS} | HGETALL ${KEY('send:1')} | DEL ${KEY('epoch')}`)],
    ['worker', words(`SCAN 0 | ZCARD ${KEY('find:1:1')} | GET ${KEY('ops:sessions')}`)],
    ['ops', []],
  ];
  const rows = CASES.flatMap(([user, own]) =>
    [...ADMIN, ...own].map((command) => [user, command] as const),
  );

  it.each(rows)('as %s: %j', async (user, [command = '', ...args]) => {
    const { REDIS_USERNAME: username, REDIS_PASSWORD: password } = redis.envOf(user);
    const client = new Redis(redis.url, { username, password });
    onTestFinished(() => client.disconnect());
    await expect(client.call(command, ...args)).rejects.toThrow(/NOPERM|can't|ACL failure/);
  });

  it('enter without a user', async () => {
    const client = new Redis(redis.url, { enableReadyCheck: false });
    client.on('error', () => {});
    onTestFinished(() => client.disconnect());
    await expect(client.ping()).rejects.toThrow('NOAUTH');
  });
});
