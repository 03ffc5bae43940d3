import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll } from 'vitest';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import type { Contact } from '../../../src/index.ts';
import { decodeContacts } from '../../../src/payload/chunk-payload.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';
import { run, type Ended } from './run.ts';
import { temporaryFolder } from '../../support/temporary.ts';

/** Lists in files, and `notices import` of them. */
export function listWorlds() {
  const redis = testRedis();
  const dir = temporaryFolder(afterAll);

  function file(name: string, content: string | Uint8Array): string {
    const where = path.join(dir, name);
    writeFileSync(where, content);
    return where;
  }

  /** `notices import` with an account of its own. */
  function world(prefix = redis.freshPrefix(), env: Readonly<Record<string, string>> = {}) {
    const ledger = new Ledger(redis.client, keysOf(prefix, 'default'));
    return {
      prefix,
      ledger,
      import: (list: string, flags: readonly string[] = [], stdin?: Buffer): Promise<Ended> =>
        run(
          ['import', list, '--template', 'T', '--batch', 'b', ...flags],
          { REDIS_URL: redis.url, REDIS_PREFIX: prefix, ...env },
          stdin,
        ),
      contacts: async (id = 'b'): Promise<readonly Contact[]> => {
        const payload = await ledger.payload(id, '0');
        return payload === undefined ? [] : decodeContacts(payload);
      },
    };
  }
  return { redis, file, world };
}
