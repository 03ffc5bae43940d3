import { loadConfig, type Config } from '../config/config.ts';
import { processEnvironment, type Environment } from '../config/environment.ts';
import { metadataOf } from '../config/variable.ts';
import { generalVariables } from '../config/variables.ts';
import { queueVariables } from '../config/variables/queue.ts';
import { redisVariables } from '../config/variables/redis.ts';
import type { NoticeQueueOptions } from './options.ts';

/** The options of a queue that a configuration contains. */
export function optionsOf({
  redis,
  account,
  queue,
}: Pick<Config, 'redis' | 'account' | 'queue'>): NoticeQueueOptions {
  const { prefix, ...connection } = redis;
  // A producer encrypts and never decrypts, so it does not take the previous key.
  const { payloadKeyPrevious: _, ...settings } = queue;
  return { redis: connection, prefix, account, ...settings };
}

/** The variables of a queue, under their current and former names. */
const NAMES: ReadonlySet<string> = new Set(
  [
    ...Object.values(redisVariables),
    ...Object.values(queueVariables),
    ...Object.values(generalVariables),
  ]
    .flatMap((row) => [row.variable, metadataOf(row).formerly])
    .filter((name) => name !== undefined),
);

/**
 * The options of a queue that an environment contains. Other variables are not read: an application has its
 * own, and one of them may have the name of a variable of workers.
 *
 * @param environment Default: that of this process
 * @throws InputError CONFIG_INVALID that names every invalid variable
 */
export function optionsOfEnvironment(
  environment: Environment = processEnvironment(),
): NoticeQueueOptions {
  const own = Object.entries(environment).filter(
    ([name]) => NAMES.has(name) || NAMES.has(name.replace(/_FILE$/, '')),
  );
  return optionsOf(loadConfig(Object.fromEntries(own), { service: false }));
}
