import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import type { EraseReport } from '../../../src/erase/erase-words.ts';
import { run } from '../../cli/support/run.ts';
import type { TestRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { tracesInRedis } from './traces-in-redis.ts';

export const FIND_KEY = '9'.repeat(64);
export const PAYLOAD_KEY = '8'.repeat(64);
export const NUMBER = '01077778888';
export const OTHER = '01011112222';
export const MASKED = '010******88';
export const to = (...numbers: string[]) => ({
  templateCode: 'T',
  contacts: numbers.map((contact) => ({ contact, var1: 'Kim' })),
});

/** A queue whose data is erased with the command. Closed when the test ends. */
export function openErase(redis: TestRedis, prefix: string, payloadKey?: string) {
  const secrets = { FIND_KEY, ...(payloadKey === undefined ? {} : { PAYLOAD_KEY: payloadKey }) };
  const account = redis.account(prefix);
  const { keys } = account;
  const env = { ...account.env, ...secrets };
  const queue = account.queueAs('application', { findKey: FIND_KEY, payloadKey });
  const erase = async (number = NUMBER, more: Record<string, string> = {}) => {
    const ended = await run(['erase', number, '--yes', '--json'], { ...env, ...more });
    return { code: ended.code, report: JSON.parse(ended.stdout) as EraseReport };
  };
  const stateOf = async (id: string) => (await queue.get(id)).state;
  const reaches = (id: string, state: string) =>
    until(async () => (await stateOf(id)) === state, {
      what: `${id} ${state}`,
      deadlineMs: 20_000,
    });
  const ledger = new Ledger(redis.client, keys);
  const traces = (prints: readonly string[] = []) =>
    tracesInRedis(redis.client, prefix, NUMBER, FIND_KEY, prints);
  return { prefix, env, queue, keys, erase, stateOf, reaches, ledger, traces, secrets };
}

/** The report where nothing was erased. */
export const NOTHING: EraseReport = {
  number: MASKED,
  notices: { cancelled: 0, removed: 0, shortened: 0 },
  batches: [],
  index: { notices: 0, chunks: 0 },
  left: [],
  unreadable: { notices: 0, chunks: 0 },
  importing: [],
  stopped: false,
};
