import { randomBytes } from 'node:crypto';
import { accountSeal, seal, unseal, type Sealing } from './seal.ts';

/** The commands of a Redis client that this needs. */
interface Store {
  readonly hgetall: (key: string) => Promise<Record<string, string>>;
  readonly hsetnx: (key: string, field: string, value: string) => Promise<number>;
}

/** Field of the secret, by the id of the key. */
const fieldOf = (key: { readonly id: Buffer } | undefined) =>
  `secret ${key?.id.toString('hex') ?? 'plain'}`;

/**
 * Reads the secret of the account, with which digests of lists and fingerprints in ids are keyed; makes it where there is
 * none. It is a hash in Redis: for each key that producers use, its id and the secret encrypted with it; without a key, the
 * secret. A change of the key keeps it, once a process has had both keys. A secret that is not encrypted is not taken
 * over: anyone who can read a backup knows it. {@link Keys.account} has other fields, too.
 */
export async function readAccountSecret(
  redis: Store,
  key: string,
  sealing: Sealing,
): Promise<string> {
  const name = fieldOf(sealing.keys[0]);
  const stored = await redis.hgetall(key);
  const own = stored[name];
  if (own !== undefined) return opened(own, sealing);
  const earlier = sealing.keys.map((one) => stored[fieldOf(one)]).find(Boolean);
  const secret =
    earlier === undefined ? randomBytes(32).toString('base64url') : opened(earlier, sealing);
  const sealed = seal(Buffer.from(secret), accountSeal(sealing))?.toString('base64') ?? secret;
  if ((await redis.hsetnx(key, name, sealed)) === 1) return secret;
  return readAccountSecret(redis, key, sealing);
}

function opened(stored: string, sealing: Sealing): string {
  if (sealing.keys.length === 0) return stored;
  return unseal(Buffer.from(stored, 'base64'), accountSeal(sealing)).toString();
}

/** Whether producers of the account encrypt with one of the keys: what has another one is no fault of this process. */
export async function isKeyOfAccount(
  redis: Pick<Store, 'hgetall'>,
  key: string,
  { keys }: Sealing,
): Promise<boolean> {
  const stored = await redis.hgetall(key);
  return keys.some((one) => fieldOf(one) in stored);
}
