import { setTimeout as pause } from 'node:timers/promises';
import type { Fault } from '../../../src/emulator/faults/fault.ts';
import type { LinkFault } from '../../support/faulty-link.ts';
import { until } from '../../support/wait.ts';
import type { BadNotices, Stage } from './stage.ts';

/** Breaks something for so long, and mends it. @returns how often it struck */
export type Strike = (stage: Stage, ms: number, random: () => number) => Promise<number>;

/** One fault of a scenario: counted, and its end is that from which a recovery is measured. */
export const during = (strike: Strike, ms: number) => async (stage: Stage) => {
  await stage.fault();
  const struck = await strike(stage, ms, Math.random);
  stage.mended();
  return struck;
};

/** The service answers so. */
export const answers =
  (fault: Omit<Fault, 'on'> & Partial<Pick<Fault, 'on'>>): Strike =>
  async (stage, ms) => {
    stage.fleet.emulator.addFault({ on: 'send', ...fault });
    await pause(ms);
    return stage.clearFaults();
  };

/** A connection is broken. */
export const link =
  (which: keyof Stage['proxies'], fault: LinkFault): Strike =>
  async ({ proxies }, ms) => {
    const proxy = proxies[which];
    const before = proxy.struck;
    await proxy.place(fault);
    await pause(ms);
    await proxy.heal();
    return proxy.struck - before;
  };

export const cut = (
  direction: 'up' | 'down',
  bytes: number,
  by: 'reset' | 'end' = 'reset',
  times = 20,
) => link('service', { kind: 'cut', direction, bytes, by, times });

/** Nobody listens at the service any more, and connections end: a proxy sees none of those that are refused. */
export const refused: Strike = async (stage, ms) => {
  const { service } = stage.proxies;
  const unreachable = () => stage.lines(({ code }) => code === 'SERVICE_UNREACHABLE');
  const before = unreachable();
  await service.place({ kind: 'refuse' });
  service.resetAll();
  await pause(ms);
  await service.heal();
  return unreachable() - before;
};

/** Redis gets a signal, and is mended afterwards. */
export const redis =
  (signal: 'SIGKILL' | 'SIGSTOP'): Strike =>
  async ({ server }, ms) => {
    await server?.kill(signal);
    await pause(ms);
    await (signal === 'SIGKILL' ? server?.restart() : server?.kill('SIGCONT'));
    return 1;
  };

type Command = readonly [name: string, ...args: string[]];

/** Repeats a command until Redis has taken it: the client may still be without its connection, because of the fault before. */
async function taken({ client }: Stage, [name, ...args]: Command): Promise<unknown> {
  let reply: unknown;
  const call = async () => {
    reply = await client.call(name, ...args);
    return true;
  };
  const what = `Redis to take ${[name, ...args].join(' ')}`;
  await until(() => call().catch(() => false), { what });
  return reply;
}

/** Redis refuses writes from one of these commands to the other. */
const refusal =
  (from: Command, to: Command): Strike =>
  async (stage, ms) => {
    await taken(stage, from);
    await pause(ms);
    await taken(stage, to);
    return 1;
  };

const setting = (name: string, value: string) =>
  refusal(['CONFIG', 'SET', name, value], ['CONFIG', 'SET', name, '0']);

export const NO_WRITES = setting('min-replicas-to-write', '1');
export const OUT_OF_MEMORY = setting('maxmemory', '1');
/** Of a master that nobody hears of: it answers READONLY, and keeps what it has. */
export const NO_MASTER = refusal(['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']);

/** Redis closes the connections of all workers and producers. */
export const clientKill: Strike = async (stage) =>
  Number(await taken(stage, ['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']));

/** The token dies, and none is issued. */
export const noTokens: Strike = (stage, ms, random) => {
  stage.fleet.emulator.revokeTokens();
  return answers({ on: 'token', status: 503 })(stage, ms, random);
};

/** The service has another secret for our key. */
export const pairRefused: Strike = async ({ fleet: { emulator } }, ms) => {
  const accessKey = 'emulator-access-key';
  const before = emulator.record().tokens.refused;
  emulator.setApp({ accessKey, secretKey: 'another' });
  await pause(ms);
  emulator.setApp({ accessKey, secretKey: 'emulator-secret-key' });
  return emulator.record().tokens.refused - before;
};

const headers = { 'content-type': 'text/html' };
export const HTML = { bodyText: '<html>Welcome</html>', headers } as const;
export const ELSEWHERE = { status: 302, headers: { location: 'http://127.0.0.1:9/' } } as const;
export const THROTTLED = { status: 429, retryAfter: 1 } as const;
export const GARBAGE = 'this is not HTTP\r\n\r\n';

/** The kinds of notices that the service refuses for themselves. */
export const BAD = {
  foreign: {
    count: 30,
    senderKey: 'key-of-another-team',
    fault: { status: 403, code: 'SENDER_NOT_YOURS' },
  },
  page: { count: 1, fault: { status: 200, bodyText: '<html>Blocked</html>', headers } },
  unknownSender: {
    count: 15,
    senderKey: 'key-of-no-team',
    fault: { status: 401, code: 'SENDER_UNKNOWN' },
  },
} as const satisfies Readonly<Record<string, BadNotices>>;
