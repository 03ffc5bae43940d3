import { loadConfig, type Config } from '../config/config.ts';
import { processEnvironment } from '../config/environment.ts';
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

/** The variables of a queue. */
const NAMES: ReadonlySet<string> = new Set(
  [generalVariables.account, ...Object.values(redisVariables), ...Object.values(queueVariables)]
    .filter((row) => row !== queueVariables.payloadKeyPrevious)
    .map((row) => row.variable),
);

/**
 * The options of a queue that the environment of this process contains, with those of the program in front of them, each
 * as a whole. One that is undefined is none: it would not give the default, but for example leave notices unencrypted.
 * Other variables are not read: an application has its own, and one of them may have the name of a variable of workers.
 *
 * @throws InputError CONFIG_INVALID that names every invalid variable
 */
export function withEnvironment<Options extends NoticeQueueOptions>(options: Options): Options {
  const own = Object.entries(processEnvironment()).filter(
    ([name]) => NAMES.has(name) || NAMES.has(name.replace(/_FILE$/, '')),
  );
  const found = optionsOf(loadConfig(Object.fromEntries(own), { service: false }));
  const given = Object.entries({ ...options }).filter(([, value]) => value !== undefined);
  return { ...found, ...(Object.fromEntries(given) as Options) };
}
