import { afterEach, expect, it, vi } from 'vitest';
import type { RedisClient } from '../../../src/redis/connect.ts';
import { Evidence } from '../../../src/fleet/hold/evidence.ts';
import { signal } from '../../support/wait.ts';

const KEYS = ['1', '2', '3', '4', '5', '6', '7'];

afterEach(() => vi.useRealTimers());

/** One process, the numbers of the meetings that it reports an acceptance for, and how often it read the record. */
function oneProcess() {
  const reported: string[] = [];
  /** Answers of Redis from now on. */
  const answers = {
    report: (): Promise<number> => Promise.resolve(1),
    read: (): Promise<(string | null)[]> => Promise.resolve([null, null]),
  };
  let reads = 0;
  let hint: (text: string | undefined) => void = () => {};
  const redis = {
    evalsha: (_sha: string, _count: number, ...args: string[]) => {
      reported.push(String(args.at(-1)));
      return answers.report();
    },
    hmget: (key: string, ...fields: string[]) => {
      expect([key, ...fields]).toEqual(['5', 'meetings', 'askedAt']);
      reads++;
      return answers.read();
    },
  } as unknown as RedisClient;
  const hints = {
    subscribe: (_channel: string, listener: (text: string | undefined) => void) => {
      hint = listener;
      return () => {};
    },
  };
  const evidence = new Evidence(redis, hints, KEYS, 'channel');
  evidence.start();
  return {
    evidence,
    reported,
    answers,
    reads: () => reads,
    hint: (text: string | undefined) => hint(text),
  };
}

const later = () => performance.now() + 1_000;

it('an acceptance is reported once where it was asked for before its request', async () => {
  const { evidence, reported, hint } = oneProcess();
  await evidence.accepted('token', later());
  hint('ask:7');
  await evidence.accepted('token', performance.now() - 1_000);
  expect(reported).toEqual([]);
  await evidence.accepted('token', later());
  await evidence.accepted('token', later());
  expect(reported).toEqual(['7']);
});

it('what another process has proved is not reported again; what was met since is', async () => {
  const { evidence, reported, answers, hint } = oneProcess();
  answers.read = () => Promise.resolve(['7', '0']);
  hint('ask:7');
  hint('proven:7');
  await answered();
  await evidence.accepted('token', later());
  expect(reported).toEqual([]);
  hint('ask:8');
  hint('proven:7');
  await answered();
  await evidence.accepted('token', later());
  expect(reported).toEqual(['8']);
});

/** Lets answers of Redis arrive. */
const answered = () => new Promise((resolve) => setImmediate(resolve));

it('what was asked for in a gap of the hints is reported, by a request that began after it was read', async () => {
  const { evidence, reported, answers, hint } = oneProcess();
  answers.read = () => Promise.resolve(['7', '1000']);
  const before = performance.now();
  hint(undefined);
  await answered();
  await evidence.accepted('token', before);
  expect(reported).toEqual([]);
  await evidence.accepted('token', later());
  await evidence.accepted('token', later());
  expect(reported).toEqual(['7']);
});

it('after a gap in which nothing was asked for, nothing is reported', async () => {
  const { evidence, reported, answers, hint, reads } = oneProcess();
  answers.read = () => Promise.resolve(['7', '0']);
  hint(undefined);
  await answered();
  await evidence.accepted('token', later());
  expect([reads(), reported]).toEqual([1, []]);
});

it('where the record cannot be read, acceptances read it again, once a second and one at a time', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const { evidence, reported, answers, hint, reads } = oneProcess();
  answers.read = () => Promise.reject(new Error('LOADING'));
  hint(undefined);
  await answered();
  for (let n = 0; n < 5; n++) await evidence.accepted('token', later());
  expect(reads()).toBe(1);
  vi.advanceTimersByTime(1_000);
  const read = signal<string[]>();
  answers.read = () => read.promise;
  for (let n = 0; n < 5; n++) await evidence.accepted('token', later());
  hint(undefined);
  expect(reads()).toBe(2);
  read.resolve(['7', '1000']);
  await answered();
  answers.read = () => Promise.resolve(['8', '1000']);
  // The gap during that read is read, too.
  await evidence.accepted('token', later());
  await answered();
  await evidence.accepted('token', later());
  for (let n = 0; n < 5; n++) await evidence.accepted('token', later());
  expect([reads(), reported]).toEqual([3, ['7', '8']]);
});

it('an acceptance whose report fails or proves nothing is still asked for, of a later request', async () => {
  const { evidence, reported, answers, hint } = oneProcess();
  hint('ask:7');
  answers.report = () => Promise.reject(new Error('OOM'));
  await expect(evidence.accepted('token', later())).rejects.toThrow('proveAccepted');
  answers.report = () => Promise.resolve(0);
  await evidence.accepted('old token', later());
  answers.report = () => Promise.resolve(1);
  await evidence.accepted('token', performance.now() - 1_000);
  expect(reported).toEqual(['7', '7']);
  await evidence.accepted('token', later());
  await evidence.accepted('token', later());
  expect(reported).toEqual(['7', '7', '7']);
});

it('what was met during a report that fails is asked for instead', async () => {
  const { evidence, reported, answers, hint } = oneProcess();
  hint('ask:7');
  const answer = signal<number>();
  answers.report = () => answer.promise;
  const reporting = evidence.accepted('token', later());
  hint('ask:8');
  answer.resolve(0);
  await reporting;
  answers.report = () => Promise.resolve(1);
  await evidence.accepted('token', later());
  await evidence.accepted('token', later());
  expect(reported).toEqual(['7', '8']);
});

it('numbers of a record that was lost are forgotten once it counts anew', async () => {
  const { evidence, reported, hint } = oneProcess();
  hint('ask:900');
  hint('ask:3');
  await evidence.accepted('token', later());
  await evidence.accepted('token', later());
  expect(reported).toEqual(['3']);
});
