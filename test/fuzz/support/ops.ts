import { newApiKey } from '../../../src/ops/web/access/accounts.ts';
import { startOps } from '../../ops/web/support/ops-bench.ts';
import { opsTarget } from '../targets/ops-requests.ts';
import type { Target } from './target.ts';

/** Callers; each may make 1,200 requests a minute. */
const OPERATORS = 60;

/** A running ops server, as a target. */
export async function fuzzedOps(
  redisUrl: string,
  prefix: string,
): Promise<{ readonly target: Target; readonly isAlive: () => Promise<boolean> }> {
  const keys = Array.from({ length: OPERATORS }, (_, index) =>
    newApiKey(`robot-${index}`, index % 5 === 0 ? 'sender' : 'operator'),
  );
  const bench = await startOps(redisUrl, prefix, {
    OPS_API_KEYS: keys.map(({ entry }) => entry).join(','),
  });
  const target = opsTarget(
    bench.url,
    keys.map(({ key }) => key),
  );
  return { target, isAlive: async () => (await bench.nobody.get('/livez')).status === 200 };
}
