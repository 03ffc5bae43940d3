import { Redis } from 'ioredis';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { startEmulator, type Emulator } from '../../src/emulator/emulator.ts';
import { NoticeQueue } from '../../src/index.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { startNoticeWorker, type NoticeWorker } from '../../workers/process/notice-worker.ts';
import { numbers } from '../support/fleet.ts';
import { until } from '../support/wait.ts';
import { startCluster } from './servers.ts';

const ACCOUNTS = ['shop-1', 'shop-2', 'shop-3', 'shop-4', 'shop-5', 'shop-6'];
/** Of each account. */
const NOTICES = 300;
const CHUNKS = 10;
const CONTACTS_OF_CHUNK = 10;
const CONTACTS = NOTICES + CHUNKS * CONTACTS_OF_CHUNK;

/** A machine that stops for seconds must not make an outcome unknown: that would be sent again. */
const PATIENT = { ANSWER_TIMEOUT_MS: '60000' };

interface Node {
  readonly host: string;
  readonly port: number;
}

/**
 * Starts a worker of one account, with a key pair of its own.
 *
 * @param log gets its log
 */
async function startAccount(
  account: string,
  emulator: Emulator,
  env: Readonly<Record<string, string>>,
  log: { write(line: string): void },
): Promise<NoticeWorker> {
  const pair = { accessKey: account, secretKey: `secret-of-${account}` };
  emulator.setApp(pair);
  const worker = await startNoticeWorker({
    env: {
      ...PATIENT,
      ...env,
      ACCOUNT: account,
      BASE_URL: emulator.url,
      ACCESS_KEY: pair.accessKey,
      SECRET_KEY: pair.secretKey,
    },
    logger: pino({ level: 'debug' }, log),
  });
  onTestFinished(() => worker.stop());
  return worker;
}

/** Queues notices and a batch for an account, the numbers from `first` on. */
async function queueFor(account: string, nodes: readonly Node[], first: number): Promise<void> {
  const queue = new NoticeQueue({ redis: { cluster: nodes }, account, enqueueTimeoutMs: 10_000 });
  onTestFinished(() => queue.close());
  const [singles, list] = [
    numbers(NOTICES, first),
    numbers(CHUNKS * CONTACTS_OF_CHUNK, first + NOTICES),
  ];
  await queue.sendMany(singles.map((contact) => ({ templateCode: 'T', contacts: [{ contact }] })));
  await queue.import(
    list.map((contact) => ({ contact })),
    { templateCode: 'T', chunkSize: CONTACTS_OF_CHUNK },
  );
}

/** The names of all keys of a master, each with its slot. */
async function keysIn(master: Redis): Promise<(readonly [string, number])[]> {
  const names = new Set<string>();
  for await (const keys of master.scanStream({ count: 1_000 })) {
    for (const key of keys as string[]) names.add(key);
  }
  const slots = [...names].map(async (key) => [key, await master.cluster('KEYSLOT', key)] as const);
  return Promise.all(slots);
}

/** Scripts that a master has run: each is one round trip of a producer or worker. */
async function scriptsRun(master: Redis): Promise<number> {
  const lines = (await master.info('commandstats')).matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm);
  return [...lines].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

it('several accounts use several masters of a Redis Cluster, each account one slot, and nothing is sent twice', async () => {
  const cluster = await startCluster();
  onTestFinished(() => cluster.close());
  const emulator = await startEmulator();
  onTestFinished(() => emulator.close());
  const nodes = (cluster.env['REDIS_CLUSTER'] ?? '').split(',').map((address) => {
    const [host = '', port] = address.split(':');
    return { host, port: Number(port) };
  });
  const masters = nodes.map((node) => new Redis(node));
  onTestFinished(() => masters.forEach((master) => master.disconnect()));

  const lines: string[] = [];
  const log = { write: (line: string) => lines.push(line) };
  const workers: NoticeWorker[] = [];
  for (const account of ACCOUNTS) {
    workers.push(await startAccount(account, emulator, cluster.env, log));
  }
  for (const master of masters) await master.config('RESETSTAT');
  await Promise.all(ACCOUNTS.map((account, index) => queueFor(account, nodes, index * CONTACTS)));
  await until(() => emulator.record().distinct === ACCOUNTS.length * CONTACTS, {
    what: 'all to be sent',
    deadlineMs: 60_000,
  });
  await Promise.all(workers.map((worker) => worker.stop()));
  const attempts = lines.filter((line) => line.includes('"event":"attempt"'));
  expect(attempts.filter((line) => !line.includes('"outcome":"accepted"'))).toEqual([]);
  expect(emulator.record()).toMatchObject({
    contacts: ACCOUNTS.length * CONTACTS,
    twice: 0,
    requests: ACCOUNTS.length * (NOTICES + CHUNKS),
    tokens: { issued: ACCOUNTS.length, refused: 0 },
  });

  const trips = await Promise.all(masters.map(scriptsRun));
  const found = await Promise.all(masters.map(keysIn));
  const ofAccounts = ACCOUNTS.map((account) => {
    const tag = `${keysOf('notices', account).bullPrefix}:`;
    return found.flatMap((keys, master) =>
      keys.filter(([key]) => key.startsWith(tag)).map(([, slot]) => ({ master, slot })),
    );
  });
  // Every key belongs to an account, and those of one account are in one slot.
  expect(ofAccounts.flat()).toHaveLength(found.flat().length);
  expect(ofAccounts.map((keys) => new Set(keys.map(({ slot }) => slot)).size)).toEqual(
    ACCOUNTS.map(() => 1),
  );
  const homes = ofAccounts.map(([first]) => first?.master ?? -1);
  for (const [index, account] of ACCOUNTS.entries()) {
    const completed = keysOf('notices', account).noticesIn('completed');
    expect(await masters[homes[index] ?? -1]?.zcard(completed)).toBe(NOTICES);
  }

  // Two accounts for each of the three masters, and each does the work of its own.
  expect(homes.toSorted((left, right) => left - right)).toEqual([0, 0, 1, 1, 2, 2]);
  const inAll = trips.reduce((sum, each) => sum + each, 0);
  for (const each of trips) {
    // Queueing and sending take a round trip each at least.
    expect(each).toBeGreaterThan(4 * NOTICES);
    expect(each / inAll).toBeCloseTo(1 / 3, 1);
  }
}, 120_000);
