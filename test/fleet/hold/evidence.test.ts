import { expect, it } from 'vitest';
import type { RedisClient } from '../../../src/redis/connect.ts';
import { Evidence } from '../../../src/fleet/hold/evidence.ts';

const KEYS = ['1', '2', '3', '4', '5', '6', '7'];

/** One process, and the numbers of the meetings that it reports an acceptance for. */
function oneProcess() {
  const reported: string[] = [];
  let hint: (text: string | undefined) => void = () => {};
  const redis = {
    evalsha: (_sha: string, _count: number, ...args: string[]) => {
      reported.push(String(args.at(-1)));
      return Promise.resolve(0);
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
  return { evidence, reported, hint: (text: string) => hint(text) };
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
  const { evidence, reported, hint } = oneProcess();
  hint('ask:7');
  hint('proven:7');
  await evidence.accepted('token', later());
  expect(reported).toEqual([]);
  hint('ask:8');
  hint('proven:7');
  await evidence.accepted('token', later());
  expect(reported).toEqual(['8']);
});
