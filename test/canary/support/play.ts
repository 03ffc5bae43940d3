import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import type { Notice } from '../../../src/contracts/notice.ts';
import type { SendOptions } from '../../../src/contracts/send-options.ts';
import { until } from '../../support/wait.ts';
import { NUMBERS, SECRET_VARIABLES, SECRETS, VALUES } from './canaries.ts';
import type { RunningProcess } from '../../cli/support/process.ts';
import type { World } from './world.ts';

/** What was sent: its ids are attacked, and asked for on every page. */
export interface Sent {
  readonly notices: Notice[];
  readonly ids: string[];
  readonly batches: string[];
}

const DEADLINE = { deadlineMs: 60_000 };

export const notice = (contact: string, templateCode = 'CANARY'): Notice => ({
  templateCode,
  contacts: [{ contact, var1: VALUES.value }],
});

/** Notes a notice that was sent. @returns its id */
export function note(sent: Sent, id: string, number: string): string {
  sent.ids.push(id);
  sent.notices.push(notice(number));
  return id;
}

export function openQueue({ redis }: World['main'], payloadKey?: string): NoticeQueue {
  const queue = new NoticeQueue({
    redis: { url: redis.url, password: SECRETS.redisPassword },
    prefix: 'canary',
    payloadKey,
    findKey: SECRET_VARIABLES.FIND_KEY,
    enqueueTimeoutMs: 20_000,
  });
  onTestFinished(() => queue.close());
  return queue;
}

/** Single notices of each kind: what the service accepts, refuses, repeats, and does not answer. */
export async function sendNotices(world: World): Promise<Sent> {
  const { emulator, tap, main } = world;
  const queue = openQueue(main, SECRET_VARIABLES.PAYLOAD_KEY);
  const sent: Sent = { notices: [], ids: [], batches: [] };
  const send = async (number: string, options: SendOptions = {}) => {
    const { id } = await queue.send(notice(number), options);
    note(sent, id, number);
  };
  for (const status of [200, 400, 404, 422] as const) {
    tap.echo(NUMBERS[`echoedWith${status}`], status);
    await send(NUMBERS[`echoedWith${status}`]);
  }
  tap.echo(NUMBERS.inListEchoed, 400);
  for (const number of [NUMBERS.unknown, NUMBERS.unknownToo, NUMBERS.inListUnknown]) {
    emulator.addFault({ on: 'send', containing: number, reset: 'after-acting' });
  }
  await send(NUMBERS.accepted);
  await send(NUMBERS.keyed, { idempotencyKey: 'order-1' });
  await send(NUMBERS.keyed, { idempotencyKey: 'order-1' });
  await send(NUMBERS.rejected);
  await send(NUMBERS.unknown, { delivery: 'at-most-once' });
  await send(NUMBERS.unknownToo, { delivery: 'at-most-once' });
  await send(NUMBERS.delayed, { delay: 3_600_000 });
  await queue.send(notice(NUMBERS.badNotice)).then(
    () => expect.unreachable('a number that is none was taken'),
    (error: unknown) => world.write('error of the library', String((error as Error).stack)),
  );
  return sent;
}

/** Waits until a worker has written so many lines of an event. */
async function lines(worker: RunningProcess, event: string, count: number): Promise<void> {
  // As JSON, or as text for people.
  const line = new RegExp(`"event":"${event}"| (?:info|warn) +${event}\\b`, 'g');
  const found = () => worker.stdout().match(line)?.length ?? 0;
  await until(() => found() >= count, { what: `${count} of ${event}`, ...DEADLINE });
}

export async function startWorker(world: World, installation: World['main'], more = {}) {
  const worker = world.start('log of a worker', ['worker'], { ...installation.env, ...more });
  await lines(worker, 'started', 1);
  return worker;
}

/** A worker is killed while the service has its requests, of a notice and of a chunk; another one takes over. */
export async function killWorker(world: World, worker: RunningProcess, sent: Sent): Promise<void> {
  const { emulator } = world;
  const hang = { on: 'send', hang: 'before-acting', times: 1 } as const;
  for (const containing of [NUMBERS.killed, NUMBERS.killedInList]) {
    emulator.addFault({ ...hang, containing });
  }
  await sendOne(world, sent, 'killed');
  await importOne(world, sent, 'killed', 'killedInList');
  const fired = () => emulator.faults().filter(({ fault, spent }) => 'hang' in fault && spent);
  await until(() => fired().length === 2, { what: 'the requests that hang', ...DEADLINE });
  worker.child.kill('SIGKILL');
  await worker.ended;
}

/** A token that ends early, answers that repeat the key pair, and keys that are refused. */
export async function troubleWithTokens(world: World, sent: Sent): Promise<void> {
  const { emulator, tap } = world;
  const statuses = [200, 400, 401, 429, 500, 503];
  for (const status of statuses) tap.echo('/api/v2/token', status, { once: true });
  const before = tap.echoed();
  emulator.revokeTokens();
  await sendOne(world, sent, 'renewed');
  const all = () => tap.echoed() >= before + statuses.length;
  await until(all, { what: 'an echo of each status', ...DEADLINE });
  await accepted(world, 'renewed');
}

/** Waits until the service has accepted a notice. */
export function accepted({ emulator }: World, name: keyof typeof NUMBERS): Promise<true> {
  const isAccepted = () => emulator.details().some(({ contact }) => contact === NUMBERS[name]);
  return until(isAccepted, { what: `notice "${name}"`, ...DEADLINE });
}

/** Sends a single notice. @returns its id */
export async function sendOne(
  { main }: World,
  sent: Sent,
  name: keyof typeof NUMBERS,
): Promise<string> {
  const queue = openQueue(main, SECRET_VARIABLES.PAYLOAD_KEY);
  const { id } = await queue.send(notice(NUMBERS[name]));
  return note(sent, id, NUMBERS[name]);
}

/** Imports a list of a single contact. */
export async function importOne(
  { main }: World,
  sent: Sent,
  batchId: string,
  name: keyof typeof NUMBERS,
): Promise<void> {
  const queue = openQueue(main, SECRET_VARIABLES.PAYLOAD_KEY);
  const list = [{ contact: NUMBERS[name], var1: VALUES.listValue }];
  await queue.import(list, { templateCode: 'CANARY', batchId });
  sent.batches.push(batchId);
}

/** Redis is killed and comes back; programs run without it, and with another password. */
export async function troubleWithRedis(
  world: World,
  sent: Sent,
  whileAway: () => Promise<void>,
): Promise<void> {
  const { main } = world;
  const wrong = { ...main.env, REDIS_PASSWORD: SECRETS.wrongRedisPassword, HEALTH_ADDRESS: '0' };
  for (const args of [['worker'], ['ops', '--port', '0']]) {
    const program = world.start('program with a wrong password', args, wrong);
    const written = () => program.stdout() + program.stderr();
    await until(() => /WRONGPASS|password/.test(written()), {
      what: 'that the password is wrong',
      ...DEADLINE,
    });
  }
  await world.collectSlowLog(main);
  await main.redis.kill('SIGKILL');
  const env = { ...main.env, HEALTH_ADDRESS: '0', LOG_LEVEL: 'debug' };
  const away = world.start('log of a worker', ['worker'], env);
  await until(() => (away.stdout() + away.stderr()).length > 0, { what: 'a line', ...DEADLINE });
  await whileAway();
  await main.redis.restart();
  await sendOne(world, sent, 'whileAway');
  await accepted(world, 'whileAway');
}

/** The same without PAYLOAD_KEY: what is stored then is readable, as docs/privacy.md says. */
export async function sendUnencrypted(world: World): Promise<void> {
  const queue = openQueue(world.open);
  const send = (contact: string) =>
    queue.send({ templateCode: 'OPEN', contacts: [{ contact, var1: VALUES.openValue }] });
  await send(NUMBERS.unencrypted);
  await queue.import([{ contact: NUMBERS.unencryptedInList, var1: VALUES.openValue }], {
    templateCode: 'OPEN',
    batchId: 'open',
  });
}

/** The lists of an import, with bad rows and with a single row; and numbers for the do-not-send list. */
export function writeLists({ folder }: World) {
  const cell = (value: string) => `"${value.replaceAll('"', '""')}"`;
  const list = [
    'contact,var1',
    ...[NUMBERS.inList, NUMBERS.inListRejected, NUMBERS.inListUnknown, NUMBERS.inListEchoed].map(
      (number) => `${number},${cell(VALUES.listValue)}`,
    ),
    `${NUMBERS.badRow},${cell(VALUES.badRowValue)}`,
    `${NUMBERS.inList},${cell(VALUES.listValue)}`,
    `not a number,${cell(VALUES.badRowValue)}`,
    `${NUMBERS.inList},${cell(VALUES.badRowValue)},too many`,
  ];
  const [spring, one, optedOut] = ['spring', 'one', 'opted-out'].map((name) =>
    path.join(folder, `lists/${name}.csv`),
  ) as [string, string, string];
  writeFileSync(spring, `${list.join('\n')}\n`);
  writeFileSync(one, `contact\n${NUMBERS.onlyOne}\n`);
  writeFileSync(optedOut, `contact,reason\n${NUMBERS.optedOut},complaint\n`);
  return { spring, one, optedOut };
}

/** The file of rejected rows, which `notices import` writes beside a list. */
export function readRejected(world: World, list: string): void {
  world.write('file of rejected rows', readFileSync(`${list}.rejected.csv`, 'utf8'));
}
