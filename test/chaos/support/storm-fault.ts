import type { Fault } from '../../../src/emulator/faults/fault.ts';
import { QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import type { FaultProxy } from '../../support/fault-proxy.ts';
import type { LinkFault } from '../../support/faulty-link.ts';
import { numbers } from '../../support/fleet.ts';
import { until } from '../../support/wait.ts';
import { type BadNotices, KEYS, type Stage } from './stage.ts';

/** Something short that breaks in a storm, where the next fault comes whatever became of this one. */
export interface StormFault {
  readonly name: string;
  /** Answers how often it struck. */
  readonly strike: (stage: Stage, random: () => number) => Promise<number>;
}

/** How long a fault lasts that has an end: below the time between two. */
export const LASTS_MS = 700;

/** The service answers so for a while. */
export const service = (name: string, fault: Omit<Fault, 'on'>, ms = LASTS_MS): StormFault => ({
  name,
  strike: async (stage) => {
    stage.fleet.emulator.addFault({ on: 'send', ...fault });
    await stage.wait(ms);
    return stage.clearFaults();
  },
});

/** A connection is broken for a while. */
export const link = (
  name: string,
  which: (stage: Stage) => FaultProxy,
  fault: LinkFault,
  ms = LASTS_MS,
): StormFault => ({
  name,
  strike: async (stage) => {
    const proxy = which(stage);
    const before = proxy.struck;
    await proxy.place(fault);
    // Refused connections are not seen; those that exist are reset, too.
    if (fault.kind === 'refuse') proxy.resetAll();
    await stage.wait(ms);
    await proxy.heal();
    return proxy.struck - before;
  },
});

/** One of these. */
export function anyOf<Item>(items: readonly Item[], random: () => number): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('nothing to choose from');
  return item;
}

/** Notices that the service refuses for themselves. */
export const bad = (name: string, notices: BadNotices): StormFault => ({
  name,
  strike: async (stage) => {
    await stage.sendBad(notices);
    return notices.count;
  },
});

/** Repeats a command until Redis has taken it: the client may still be without its connection, because of the fault before. */
const taken = (what: string, run: () => Promise<unknown>) =>
  until(
    () =>
      run().then(
        () => true,
        () => false,
      ),
    { what: `Redis to take ${what}`, deadlineMs: 10_000 },
  );

type Command = readonly [name: string, ...args: string[]];
const command = ({ client }: Stage, [name, ...args]: Command) =>
  taken([name, ...args].join(' '), () => client.call(name, ...args));

/** Redis refuses writes from one of these commands to the other. */
export const refusal = (name: string, [from, to]: readonly [Command, Command]): StormFault => ({
  name,
  strike: async (stage) => {
    await command(stage, from);
    await stage.wait(LASTS_MS);
    await command(stage, to);
    return 1;
  },
});

/** Redis closes the connections of all workers and producers. */
export const CLIENT_KILL: StormFault = {
  name: 'CLIENT KILL',
  strike: async ({ client }) => {
    let killed = 0;
    await taken('CLIENT KILL', async () => {
      killed = Number(await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'));
    });
    return killed;
  },
};

/** Numbers of malformed jobs: beyond those of all other notices. */
const MALFORMED_FROM = 9_000_000;
/** Far beyond what a job may be nested. */
const LEVELS = 1_000;

/**
 * Queues jobs of another producer of which no request can be made: one with a contact that is nested too
 * deep, one without contacts, one of no known form.
 *
 * @returns how many
 */
export async function queueMalformed({ client, load }: Stage): Promise<number> {
  const first = MALFORMED_FROM + load.bad.size;
  const [deep = '', none = '', unknown = ''] = numbers(3, first);
  let nested: unknown = 'x';
  for (let level = 0; level < LEVELS; level++) nested = [nested];
  const notice = { templateCode: 'CHAOS', scheduleType: 'DIRECTLY' };
  const jobs = {
    [deep]: { v: 1, notice: { ...notice, contacts: [{ contact: deep, nested }] } },
    [none]: { v: 1, notice },
    [unknown]: { contact: unknown },
  };
  const queue = openBullQueue(QUEUE_NAME, client, KEYS);
  for (const [contact, data] of Object.entries(jobs)) {
    const id = `malformed-${contact}`;
    // Of two adds with one id the second adds nothing.
    await taken(id, () => queue.add('send', data, { jobId: id }));
    load.bad.set(id, contact);
  }
  await queue.close();
  return 3;
}
