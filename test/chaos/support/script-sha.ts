import type { Redis } from 'ioredis';
import type { Script } from '../../../src/redis/script.ts';

/** More keys than any script of ours takes. */
const MOST_KEYS = 16;

/** The hash under which a script goes over the wire: a proxy knows its commands by it. */
export async function shaOf(script: Script<unknown>): Promise<string> {
  const seen: string[] = [];
  const note = (hash: string) => {
    seen.push(hash);
    return Promise.reject(new Error('only its name was wanted'));
  };
  // Never connected: nothing but the name of the command is wanted.
  const client = {
    evalsha: (hash: string) => note(hash),
    callBuffer: (_command: string, hash: string) => note(hash),
  } as unknown as Redis;
  for (let keys = 1; keys <= MOST_KEYS && seen.length === 0; keys++) {
    const names = Array.from({ length: keys }, () => 'k');
    await script(client, names, []).catch(() => {});
  }
  const [sha] = seen;
  if (sha === undefined) throw new Error('the script was not sent');
  return sha;
}
