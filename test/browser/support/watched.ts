import { numbers, startFleet } from '../../support/fleet.ts';
import { startOps } from '../../ops/web/support/ops-bench.ts';
import type { EmulatorOptions } from '../../../src/emulator/options.ts';
import { onTestFinished } from 'vitest';
import { visit, type VisitOptions } from './visit.ts';

/** Holds come and go, and workers tell of themselves, often enough to be watched. */
const LIVELY = {
  HOLD_PROBE_MIN_MS: '500',
  HOLD_PROBE_MAX_MS: '1000',
  HEARTBEAT_MS: '1000',
  BATCH_CONCURRENCY: '1',
  BACKOFF_BASE_MS: '100',
};

/** Contacts of a list. */
export const rows = (count: number) => numbers(count).map((contact) => ({ contact, var1: 'x' }));

/** The ops server finds what it hands over itself. */
const FIND_KEY = '4'.repeat(64);

export type Watched = Awaited<ReturnType<typeof startWatched>>;

/**
 * An emulator, workers, an ops server over them, and a person who looks at it.
 *
 * @param processes workers; 0 where the test adds them itself
 */
export async function startWatched(
  { url, freshPrefix }: { readonly url: string; readonly freshPrefix: () => string },
  { processes = 1, emulator }: { processes?: number; emulator?: EmulatorOptions } = {},
) {
  const prefix = freshPrefix();
  const fleet = await startFleet({
    redisUrl: url,
    prefix,
    processes,
    env: LIVELY,
    ...(emulator === undefined ? {} : { emulator }),
  });
  onTestFinished(() => fleet.close());
  const { BASE_URL = '', ACCESS_KEY = '', SECRET_KEY = '' } = fleet.env;
  const ops = await startOps(url, prefix, { BASE_URL, ACCESS_KEY, SECRET_KEY, FIND_KEY });
  // One for each person: a later session ends an earlier one.
  const cookies: { otto?: string; vera?: string } = {};
  return {
    fleet,
    ops,
    /** Opens a window in which somebody is signed in. */
    look: (who: 'otto' | 'vera' = 'otto', options: VisitOptions = {}) => {
      cookies[who] ??= ops.cookie(who, Date.now());
      return visit(ops.url, { ...options, cookie: cookies[who] });
    },
  };
}
