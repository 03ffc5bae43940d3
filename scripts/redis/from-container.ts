import { randomBytes } from 'node:crypto';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { waitForPong } from './ping.ts';
import { IN_MEMORY, PERSISTENT } from './redis-server.ts';
import type { ProvidedRedis, StepContext } from './redis-step.ts';

const IMAGE = 'redis:8-alpine';
const PORT = 6379;
const ENGINE_DEADLINE_MS = 3_000;
const PONG_DEADLINE_MS = 15_000;

/** A container of {@link IMAGE}, where a Docker engine answers. Its data goes with it. */
export async function fromContainer({
  persistence,
  say,
}: StepContext): Promise<ProvidedRedis | string> {
  // Loaded only here: it takes most of a second, and no other way needs it.
  const testcontainers = await import('testcontainers');
  const engine = await within(ENGINE_DEADLINE_MS, testcontainers.getContainerRuntimeClient());
  if (engine === undefined) return 'No Docker engine answers.';

  say(`No Redis is at hand: starting a container of ${IMAGE} (the first time, it is pulled).`);
  // The engine publishes the port on every interface of this machine, so it is not left open.
  const password = randomBytes(16).toString('hex');
  const settings = persistence ? PERSISTENT : IN_MEMORY;
  const command = ['redis-server', ...settings, '--maxmemory-policy', 'noeviction'];
  const container = await new testcontainers.GenericContainer(IMAGE)
    .withCommand([...command, '--requirepass', password])
    .withExposedPorts(PORT)
    .withWaitStrategy(testcontainers.Wait.forLogMessage('Ready to accept connections'))
    .start()
    .catch((error: unknown) => (error instanceof Error ? error.message : 'it failed'));
  if (typeof container === 'string')
    return `No container of ${IMAGE} could be started (${container}).`;

  let stopped: Promise<unknown> | undefined;
  const close = async () => {
    stopped ??= container.stop();
    await stopped;
  };
  const url = `redis://:${password}@${container.getHost()}:${container.getMappedPort(PORT)}`;
  const problem = await waitForPong(url, { deadlineMs: PONG_DEADLINE_MS });
  if (problem === undefined) return { url, how: 'container', close };
  await close();
  throw new NoticeQueueError(
    'REDIS_MISSING',
    `The Redis container did not answer PING within ${PONG_DEADLINE_MS} ms (${problem}).`,
  );
}

/** The promise's value, or undefined when it fails or takes longer. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([promise.catch(() => undefined), late]);
  } finally {
    clearTimeout(timer);
  }
}
