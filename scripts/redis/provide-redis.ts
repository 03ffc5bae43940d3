import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { fromAptGet } from './from-apt-get.ts';
import { fromContainer } from './from-container.ts';
import { fromEnvironment } from './from-environment.ts';
import { fromLocalProgram } from './from-local-program.ts';
import type { ProvidedRedis, RedisStep, StepContext } from './redis-step.ts';

export interface ProvideRedisOptions {
  /** Keeps data over a restart of the server (append-only file). Default: false. */
  readonly persistence?: boolean;
  /** Default: the process's environment. PATH and REDIS_URL of it are read. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Gets one line when a step takes longer (a pull, an installation). Default: writes to stderr. */
  readonly say?: (line: string) => void;
}

/** The ways to a Redis, in the order they are tried: what is there goes before what is fetched. */
export const REDIS_STEPS: readonly RedisStep[] = [
  fromEnvironment,
  fromLocalProgram,
  fromContainer,
  fromAptGet,
];

/**
 * Finds or gets a Redis, so that the only requirement of a machine is Node.
 *
 * @throws NoticeQueueError REDIS_MISSING when every way is closed; the message says why each is
 */
export async function provideRedis(
  options: ProvideRedisOptions = {},
  steps: readonly RedisStep[] = REDIS_STEPS,
): Promise<ProvidedRedis> {
  const context: StepContext = {
    persistence: options.persistence ?? false,
    env: options.env ?? process.env,
    say: options.say ?? ((line) => process.stderr.write(`${line}\n`)),
  };
  const closed: string[] = [];
  for (const step of steps) {
    const found = await step(context);
    if (typeof found !== 'string') return found;
    closed.push(found);
  }
  throw new NoticeQueueError('REDIS_MISSING', `No Redis was found: ${closed.join(' ')}`);
}
