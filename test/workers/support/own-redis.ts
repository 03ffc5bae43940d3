import { onTestFinished } from 'vitest';
import { startRedisServer } from '../../../scripts/redis/redis-server.ts';
import { startFleet } from '../../support/fleet.ts';

type FleetPlan = Parameters<typeof startFleet>[0];

/** A Redis of its own, which the test may kill, and a fleet on it. Both end with the test. */
export async function fleetOnOwnRedis(
  redis: Parameters<typeof startRedisServer>[0],
  plan: Partial<FleetPlan> & Pick<FleetPlan, 'prefix'>,
) {
  const server = await startRedisServer(redis);
  onTestFinished(() => server.close());
  const fleet = await startFleet({ redisUrl: server.url, processes: 1, ...plan });
  onTestFinished(() => fleet.close());
  return { server, fleet };
}
