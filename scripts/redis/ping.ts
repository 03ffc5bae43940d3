import { Redis } from 'ioredis';

const RETRY_EVERY_MS = 50;

/** Why a Redis did not answer PING in time, in words that hold no address and no password. */
export type NoPong = string;

/** How long {@link waitForPong} waits, and for whom. */
export interface PongOptions {
  /** Milliseconds from now. */
  readonly deadlineMs: number;
  /** Ends the wait early, for instance when the server's process has ended. */
  readonly signal?: AbortSignal;
  /** Process id that the server must have: on a shared machine a port may have another owner. */
  readonly pid?: number;
}

/**
 * Waits until the Redis at `url` answers PING: connects again while nobody listens or it is still
 * loading its data, until the deadline.
 *
 * @returns undefined once it answered, else why it did not
 */
export async function waitForPong(
  url: string,
  { deadlineMs, signal, pid }: PongOptions,
): Promise<NoPong | undefined> {
  let lastProblem = 'nothing answered';
  const client = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: null,
    connectTimeout: deadlineMs,
    retryStrategy: () => RETRY_EVERY_MS,
  });
  client.on('error', (error: unknown) => {
    lastProblem = describe(error);
  });
  const gaveUp = new AbortController();
  const giveUp = () => gaveUp.abort();
  const timer = setTimeout(giveUp, deadlineMs);
  signal?.addEventListener('abort', giveUp, { once: true });
  if (signal?.aborted === true) giveUp();
  try {
    return await Promise.race([pong(client, pid), aborted(gaveUp.signal, () => lastProblem)]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', giveUp);
    client.disconnect();
  }
}

async function pong(client: Redis, pid: number | undefined): Promise<NoPong | undefined> {
  try {
    await client.ping();
    if (pid === undefined) return undefined;
    const ours = (await client.info('server')).includes(`process_id:${pid}\r\n`);
    return ours ? undefined : 'another server answers there';
  } catch (error) {
    return describe(error);
  }
}

function aborted(signal: AbortSignal, reason: () => NoPong): Promise<NoPong> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(reason());
    signal.addEventListener('abort', () => resolve(reason()), { once: true });
  });
}

/** Only the code (ECONNREFUSED) or Redis' first word (NOAUTH): the rest may name hosts and users. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'it failed';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return /^[A-Z]{4,}/.exec(error.message)?.[0] ?? 'it failed';
}
