import { onTestFinished } from 'vitest';
import { startFaultProxy } from '../../support/fault-proxy.ts';
import { until } from '../../support/wait.ts';
import { NUMBERS } from './canaries.ts';
import { accepted, sendOne, startWorker, type Sent } from './play.ts';
import type { World } from './world.ts';

/** A hold that the service causes, and a page in place of its answer; both repeat the request. */
export async function troubleWithService(world: World, sent: Sent): Promise<void> {
  world.tap.echo(NUMBERS.heldByService, 402, { once: true });
  await sendOne(world, sent, 'heldByService');
  await accepted(world, 'heldByService');
  for (const status of [200, 403]) {
    world.tap.echo(NUMBERS.pageInstead, status, { once: true, page: true });
  }
  await sendOne(world, sent, 'pageInstead');
  await accepted(world, 'pageInstead');
}

/** Redis refuses writes while the service has a request, so that its end cannot be recorded. */
export async function refuseWrites(
  world: World,
  sent: Sent,
  meanwhile: () => Promise<void>,
): Promise<void> {
  const client = world.connect(world.main);
  const slow = {
    on: 'send',
    containing: NUMBERS.writesRefused,
    latencyMs: 1_500,
    times: 1,
  } as const;
  const id = world.emulator.addFault(slow);
  await sendOne(world, sent, 'writesRefused');
  const fired = () => world.emulator.faults().some((one) => one.id === id && one.spent);
  await until(fired, { what: 'the request that is slow', deadlineMs: 60_000 });
  await client.config('SET', 'min-replicas-to-write', '1');
  await meanwhile();
  await accepted(world, 'writesRefused');
  await client.config('SET', 'min-replicas-to-write', '0');
}

/**
 * A worker, with a log for people, and a command whose replies from Redis are lost.
 *
 * @param command run with the address at which replies are lost
 */
export async function loseReplies(
  world: World,
  sent: Sent,
  command: (env: { readonly REDIS_URL: string }) => Promise<unknown>,
): Promise<void> {
  const proxy = await startFaultProxy(world.main.redis.port);
  onTestFinished(() => proxy.close());
  const env = { REDIS_URL: `redis://127.0.0.1:${proxy.port}` };
  await startWorker(world, world.main, { ...env, LOG_FORMAT: 'text' });
  await proxy.place({ kind: 'drop-reply', when: 'evalsha', times: 3 });
  await command(env);
  await sendOne(world, sent, 'lostReply');
  await accepted(world, 'lostReply');
  await until(() => proxy.struck >= 3, { what: 'three lost replies', deadlineMs: 60_000 });
}
