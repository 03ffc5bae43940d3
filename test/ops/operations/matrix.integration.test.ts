import { afterAll, describe, expect, it } from 'vitest';
import { freePort } from '../../../scripts/redis/free-port.ts';
import { NoticeAdmin } from '../../../src/admin/index.ts';
import { readAudit } from '../../../src/ops/audit.ts';
import { isChange, paramsOf, type Operation } from '../../../src/ops/operations/operation.ts';
import {
  OPERATIONS,
  type OperationInput,
  type OperationName,
} from '../../../src/ops/operations/operations.ts';
import { run } from '../../cli/support/run.ts';
import { testRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { until } from '../../support/wait.ts';
import { filledAccount, NUMBER } from './support/account.ts';
import {
  expectDocumented,
  startOps,
  type Caller,
  type OpsBench,
} from '../web/support/ops-bench.ts';
import { ownRedis } from '../../support/own-redis.ts';

/*
 * Every operation by HTTP, command and library: who may, what is refused, what does not exist, Redis away. A new operation is
 * one row here, and one in pages.integration.test.ts.
 */

/** How an operation is tried. */
interface Example<Name extends OperationName> {
  readonly input: OperationInput<Name>;
  /** Fields that it refuses, in place of those, and the one that the refusal names. */
  readonly bad?: readonly [Readonly<Record<string, unknown>>, string];
  /** Its command line, or why it has none. `n-one` stands for the id of a notice. */
  readonly command: string | { readonly none: string };
  /** Kind and target of its entry in the audit stream; absent where it changes nothing. */
  readonly audits?: readonly [string, string];
  /** A change with nothing to do here: nothing is recorded, and its command ends with 1. */
  readonly idle?: true;
  /** Fields that name what does not exist, where no parameter of the path does. */
  readonly missing?: Readonly<Record<string, unknown>>;
  /** It answers what it knows of an unknown id. */
  readonly answersUnknown?: true;
}

const EXAMPLES: { readonly [Name in OperationName]: Example<Name> } = {
  'hold show': { input: {}, command: 'hold' },
  'hold place': {
    input: {},
    bad: [{ template: '' }, 'template'],
    command: 'hold place --why test',
    audits: ['hold', 'queue'],
  },
  'hold lift': {
    input: {},
    bad: [{ kind: 'none' }, 'kind'],
    command: 'hold lift',
    audits: ['hold', 'queue'],
  },
  'rate-limit show': { input: {}, command: 'rate-limit' },
  'rate-limit set': {
    input: { rateLimit: 50 },
    bad: [{ rateLimit: 0 }, 'rateLimit'],
    command: 'rate-limit 50',
    audits: ['rate-limit', 'queue'],
  },
  status: { input: {}, command: 'status' },
  audit: { input: {}, bad: [{ limit: 0 }, 'limit'], command: 'audit' },
  show: {
    input: { id: 'n-one' },
    command: 'show n-one',
    answersUnknown: true,
  },
  'show by key': {
    input: { idempotencyKey: 'k' },
    bad: [{ idempotencyKey: '' }, 'idempotencyKey'],
    command: 'show --key k',
  },
  find: { input: { number: NUMBER }, bad: [{ number: 'x' }, 'number'], command: `find ${NUMBER}` },
  'cancel one': {
    input: { id: 'n-one' },
    bad: [{ releaseKey: 'yes' }, 'releaseKey'],
    command: 'cancel n-one',
    audits: ['cancel', 'single notices'],
    answersUnknown: true,
  },
  'cancel by key': {
    input: { idempotencyKey: 'k' },
    bad: [{ idempotencyKey: '' }, 'idempotencyKey'],
    command: 'cancel --key k',
    audits: ['cancel', 'single notices'],
  },
  'events list': { input: {}, bad: [{ from: 'x' }, 'from'], command: 'events' },
  'events replay': {
    input: { cursor: '0' },
    bad: [{ cursor: 'x' }, 'cursor'],
    command: 'events replay 0',
    audits: ['events', 'events'],
  },
  'restored show': { input: {}, command: 'restored' },
  'restored park': { input: {}, command: 'restored park', idle: true },
  waiting: { input: {}, bad: [{ queuedAfter: 'soon' }, 'queuedAfter'], command: 'waiting' },
  cancel: {
    input: { template: 'WAITS' },
    bad: [{ limit: 0 }, 'limit'],
    command: 'cancel --template WAITS --yes',
    audits: ['cancel', 'single notices'],
  },
  batches: { input: {}, bad: [{ phase: 'none' }, 'phase'], command: 'batches' },
  batch: { input: { id: 'b' }, bad: [{ id: 'a b' }, 'id'], command: 'batch b' },
  pause: {
    input: { id: 'b' },
    bad: [{ id: 'a b' }, 'id'],
    command: 'pause b',
    audits: ['batch', 'batch b'],
  },
  resume: {
    input: { id: 'b' },
    bad: [{ id: 'a b' }, 'id'],
    command: 'resume b',
    audits: ['batch', 'batch b'],
  },
  rate: {
    input: { id: 'b', rate: 50 },
    bad: [{ rate: 0 }, 'rate'],
    command: 'rate b 50',
    audits: ['batch', 'batch b'],
  },
  'batch results': { input: { id: 'b' }, bad: [{ limit: 0 }, 'limit'], command: 'results b' },
  'batch cancel': {
    input: { id: 'b' },
    bad: [{ id: 'a b' }, 'id'],
    command: 'cancel b --yes',
    audits: ['batch', 'batch b'],
  },
  failures: {
    input: {},
    bad: [{ state: 'accepted' }, 'state'],
    command: 'failures',
    missing: { batch: 'gone' },
  },
  'failures preview': {
    input: { code: 'NONE', state: 'unknown' },
    bad: [{ limit: 0 }, 'limit'],
    command: { none: '"notices decide" shows it before it asks' },
    missing: { batch: 'gone' },
  },
  decide: {
    input: { as: 'accepted', before: Date.now() + 3_600_000 },
    bad: [{ as: 'maybe' }, 'as'],
    command: 'decide --single --as discard --yes',
    audits: ['decide', 'single notices'],
    missing: { batch: 'gone' },
  },
  erase: {
    input: { number: NUMBER },
    bad: [{ number: 'x' }, 'number'],
    command: `erase ${NUMBER} --yes`,
    audits: ['erase', 'number 010******01'],
  },
  'suppress add': {
    input: { number: NUMBER, reason: 'complaint' },
    bad: [{ reason: 'none' }, 'reason'],
    command: `suppress add ${NUMBER} --reason complaint --why test`,
    audits: ['suppress', 'number 010******01'],
  },
  'suppress check': {
    input: { number: NUMBER },
    bad: [{ number: 'x' }, 'number'],
    command: `suppress check ${NUMBER}`,
  },
  'suppress remove': {
    input: { number: NUMBER },
    bad: [{ number: 'x' }, 'number'],
    command: `suppress remove ${NUMBER}`,
    audits: ['suppress', 'number 010******01'],
  },
  'sessions list': { input: {}, command: 'sessions' },
  'sessions end': {
    input: { user: 'kim' },
    bad: [{ user: '' }, 'user'],
    command: 'sessions end kim',
    audits: ['session', 'kim'],
  },
};

/** A row with another input: rejected notices are sent again after the unknown ones are decided. */
const RESEND: Example<'decide'> = {
  input: { as: 'resend', single: true, before: Date.now() + 3_600_000 },
  command: 'decide --single --as resend --yes',
  audits: ['decide', 'single notices'],
};

interface Row {
  readonly name: OperationName;
  readonly row: Operation;
  readonly example: Example<OperationName>;
}

/** In the order of the examples: each has something to do after those before it. */
const ROWS: readonly Row[] = Object.entries(EXAMPLES)
  .flatMap(([name, example]) =>
    name === 'decide'
      ? ([
          [name, example],
          [name, RESEND],
        ] as const)
      : ([[name, example]] as const),
  )
  .flatMap(([name, example]) =>
    OPERATIONS.filter((row) => row.name === name).map((row) => ({
      name: row.name,
      row,
      example: example as Example<OperationName>,
    })),
  );
const WHY = 'the matrix';

/** Calls the route of an operation. */
function call(caller: Caller, row: Operation, fields: object, why: object = { why: WHY }) {
  const given = new Map(Object.entries(fields));
  let path = row.path;
  for (const name of paramsOf(row)) {
    path = path.replace(`:${name}`, encodeURIComponent(String(given.get(name))));
    given.delete(name);
  }
  if (isChange(row)) return caller.post(path, { ...Object.fromEntries(given), ...why });
  if (row.hidesInput === true) return caller.post(path, Object.fromEntries(given));
  const query = new URLSearchParams();
  for (const [name, value] of given) query.set(name, String(value));
  return caller.get(`${path}?${query.toString()}`);
}

const redis = testRedis();
const findKey = Buffer.alloc(32, 7).toString('base64');

/** An account in which each operation has something to do, in the order of the rows. */
async function account() {
  const { prefix, keys, id } = await filledAccount(redis, findKey);
  const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix, FIND_KEY: findKey };
  /** The rows with the ids of this account. */
  const rows = ROWS.map((one) => ({
    ...one,
    example: JSON.parse(
      JSON.stringify(one.example).replaceAll('n-one', id),
    ) as Example<OperationName>,
  }));
  const audit = async () =>
    (await readAudit(redis.client, keys, 1)).map(({ what, target, why }) => [what, target, why]);
  const admin = new NoticeAdmin({
    redis: connectionAs('ops', redis.url),
    prefix,
    findKey,
    who: 'matrix',
  });
  const server = () => startOps(redis.url, prefix, { FIND_KEY: findKey });
  return { rows, env, audit, admin, server };
}

describe('every operation', () => {
  it('over HTTP: answers as documented, and a change is recorded with its reason', async () => {
    const { rows, audit, server } = await account();
    const operator = await (await server()).operator();
    for (const { name, row, example } of rows) {
      const reply = await call(operator, row, example.input);
      expect([name, reply.status]).toEqual([name, 200]);
      expectDocumented(
        isChange(row) || row.hidesInput ? 'POST' : 'GET',
        row.path.replaceAll(':id', 'b'),
        reply,
      );
      const isAudited = example.audits !== undefined || example.idle === true;
      expect([name, isAudited]).toEqual([name, isChange(row)]);
      const [what, target] = example.audits ?? [];
      if (what === undefined) continue;
      const [recorded = []] = await audit();
      // One notice is named by its id.
      const shown = recorded[1]?.replace(/^n-.*/, 'single notices');
      expect([name, recorded[0], shown, recorded[2]]).toEqual([name, what, target, WHY]);
    }
  });

  it('as a command: ends with 0, and as the library: answers the same fields', async () => {
    const { env, rows } = await account();
    const { admin, rows: others } = await account();
    for (const [index, { name, example }] of rows.entries()) {
      const input = others[index]?.example.input ?? {};
      const answer = await admin.run(name, input, { why: WHY });
      if (typeof example.command !== 'string') continue;
      const ended = await run([...example.command.split(' '), '--json'], env);
      const code = example.idle === true ? 1 : 0;
      expect([name, ended.code, ended.stderr]).toEqual([name, code, '']);
      const printed = JSON.parse(ended.stdout) as object;
      expect([name, Object.keys(printed)]).toEqual([name, Object.keys(answer)]);
      const words = await run(example.command.split(' '), env);
      expect([name, words.stdout === '' && words.code === 0]).toEqual([name, false]);
    }
  });

  it('needs its role, and a reason over HTTP where it has to have one', async () => {
    const { rows, server: start } = await account();
    const server = await start();
    const [viewer, operator] = [await server.viewer(), await server.operator()];
    for (const { name, row, example } of rows) {
      expect([name, (await call(server.nobody, row, example.input)).status]).toEqual([name, 401]);
      const sender = await call(server.key('sender'), row, example.input);
      const isFor = { viewer: row.needs === 'viewer' || row.needs === 'any', sender: false };
      isFor.sender = row.needs === 'any' || row.needs === 'sender-or-operator';
      expect([name, sender.status]).toEqual([name, isFor.sender ? 200 : 403]);
      const seen = await call(viewer, row, example.input);
      expect([name, seen.status]).toEqual([name, isFor.viewer ? 200 : 403]);
      if (!isChange(row) || row.why === 'may') continue;
      const silent = await call(operator, row, example.input, {});
      expect([name, silent.json['issues']]).toMatchObject([name, [{ field: 'why' }]]);
    }
  });

  it('refuses bad input with the name of the field', async () => {
    const { rows, admin, server } = await account();
    const operator = await (await server()).operator();
    for (const { name, row, example } of rows) {
      if (example.bad === undefined) continue;
      const [fields, field] = example.bad;
      const input = { ...example.input, ...fields };
      const reply = await call(operator, row, input);
      expect([name, reply.status, reply.json['issues']]).toMatchObject([name, 400, [{ field }]]);
      const refused = admin.run(name, input);
      await expect(refused).rejects.toMatchObject({ code: 'REQUEST_INVALID', issues: [{ field }] });
    }
  });

  it('names what does not exist', async () => {
    const { rows, env, admin, server } = await account();
    const operator = await (await server()).operator();
    for (const { name, row, example } of rows) {
      const { missing = { id: 'gone' } } = example;
      const isNamed = example.missing !== undefined || paramsOf(row).length > 0;
      if (!isNamed || example.answersUnknown === true) continue;
      const input = { ...example.input, ...missing };
      const reply = await call(operator, row, input);
      expect([name, reply.status, reply.json['code']]).toEqual([name, 404, 'NOT_FOUND']);
      await expect(admin.run(name, input as never)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      if (typeof example.command !== 'string' || example.missing !== undefined) continue;
      const args = example.command.split(' ').map((word) => (word === 'b' ? 'gone' : word));
      const ended = await run(args, env);
      // A batch with this id, or nothing: a notice, too, can be cancelled by its id.
      expect([name, ended.code, ended.stderr + ended.stdout]).toEqual([
        name,
        1,
        expect.stringMatching(/^NOT_FOUND: No batch named "gone"|^Notice gone is not cancelled/),
      ]);
    }
  });
});

describe('every operation while Redis is away', async () => {
  const { server } = await ownRedis({}, afterAll);
  let bench: OpsBench;

  it('says so, and does nothing', async () => {
    bench = await startOps(server.url, 'away', { FIND_KEY: findKey });
    const operator = await bench.operator();
    await server.kill('SIGKILL');
    const isAway = async () => (await bench.nobody.get('/readyz')).status === 503;
    await until(isAway, { what: '/readyz to notice', deadlineMs: 20_000 });
    const url = `redis://127.0.0.1:${await freePort()}`;
    const admin = new NoticeAdmin({
      redis: connectionAs('ops', redis.url, url),
      prefix: 'away',
      findKey,
      enqueueTimeoutMs: 300,
    });
    await Promise.all(
      ROWS.map(async ({ name, row, example }) => {
        const reply = await call(operator, row, example.input);
        expect([name, reply.status, reply.json['code']]).toEqual([name, 503, 'QUEUE_UNAVAILABLE']);
        await expect(admin.run(name, example.input)).rejects.toMatchObject({
          code: 'QUEUE_UNAVAILABLE',
        });
        if (typeof example.command !== 'string') return;
        const ended = await run(example.command.split(' '), { REDIS_URL: url, FIND_KEY: findKey });
        expect([name, ended.code, ended.stdout]).toEqual([name, 3, '']);
      }),
    );
  }, 60_000);
});
