import { createHash, randomBytes } from 'node:crypto';
import { NoticeQueueError } from '../contracts/errors.ts';
import { doNotSendSeal, seal, unseal, type Sealing } from '../payload/seal.ts';
import type { RedisClient } from '../redis/connect.ts';
import { translated } from '../redis/failure.ts';
import { keepKey } from './scripts.ts';

/*
 * The key of the do-not-send list: random, and stored in the list's hash, once for each PAYLOAD_KEY of a process that
 * used the list, encrypted with it, and plain for those without one. So a change of PAYLOAD_KEY keeps it.
 */
const PLAIN = 'key plain';

const fieldOf = (key: Sealing['keys'][number]) => `key ${key.id.toString('hex')}`;

export interface ListKey {
  readonly bytes: Buffer;
  /** Its print, by which a list with another key is known. */
  readonly print: string;
  /** How this process stores it where there is none yet: field and value. */
  readonly field: string;
  readonly stored: string;
}

/**
 * Reads the key of the list, and stores it for the current key of this process, too; a new one where there is no list.
 * @throws NoticeQueueError NOT_POSSIBLE where it is encrypted with other keys than this process has
 */
export async function readListKey(
  redis: RedisClient,
  list: string,
  sealing: Sealing,
): Promise<ListKey> {
  const stored = await translated(redis.hgetall(list));
  if (stored['key'] === undefined) return listKey(randomBytes(32), sealing);
  const sealed = sealing.keys.map((key) => stored[fieldOf(key)]).find(Boolean);
  const plain = stored[PLAIN];
  if (sealed === undefined && plain === undefined) throw keyMissing();
  const bytes =
    sealed === undefined
      ? Buffer.from(plain ?? '', 'base64')
      : unseal(Buffer.from(sealed, 'base64'), doNotSendSeal(sealing));
  const key = listKey(bytes, sealing);
  // Workers that refuse plain contacts remove the plain key.
  const removed = plain === undefined || sealing.acceptsPlain ? [] : [PLAIN];
  if (!(key.field in stored) || removed.length > 0) {
    // Where it fails, the next process stores it.
    const args = [key.print, key.field, key.stored, ...removed];
    await translated(keepKey(redis, [list], args)).catch(() => {});
  }
  return key;
}

function listKey(bytes: Buffer, sealing: Sealing): ListKey {
  const [current] = sealing.keys;
  const stored = seal(bytes, doNotSendSeal(sealing)) ?? bytes;
  return {
    bytes,
    print: createHash('sha256').update(bytes).digest('base64url').slice(0, 16),
    field: current === undefined ? PLAIN : fieldOf(current),
    stored: stored.toString('base64'),
  };
}

const keyMissing = () =>
  new NoticeQueueError(
    'NOT_POSSIBLE',
    'The do-not-send list is encrypted with a PAYLOAD_KEY that this process does not have: set it as PAYLOAD_KEY or PAYLOAD_KEY_PREVIOUS.',
  );
