import { afterAll, describe, expect, it } from 'vitest';
import { readAudit } from '../../../src/ops/audit.ts';
import { acceptOldUnknown } from '../../../src/ops/chores/accept-old.ts';
import type { DecideReport } from '../../../src/ops/decide.ts';
import type { Keys } from '../../../src/redis/keys.ts';
import { run } from '../../cli/support/run.ts';
import { until } from '../../support/wait.ts';
import { startWorkerInProcess } from '../../workers/support/worker-in-process.ts';
import { failNotices, type FailedNoticesOptions } from '../support/failed-notices.ts';
import { commandsByName } from '../web/support/commands.ts';
import { startOps } from '../web/support/ops-bench.ts';
import { ownRedis } from '../../support/own-redis.ts';

const LONG = { deadlineMs: 90_000 };
const RESOLVE = '/api/v1/failures/decide';
const why = 'asked the service';

/** Redis commands for one decision, those inside scripts among them. */
const MOST_COMMANDS = 50;

const commandsOf = async (url: string) =>
  (await commandsByName(url)).reduce((sum, [, calls]) => sum + calls, 0);

describe('ten thousand unknown single notices', async () => {
  const { client, server } = await ownRedis({}, afterAll);

  const unknown = (prefix: string, options: Omit<FailedNoticesOptions, 'state'>) =>
    failNotices({ url: server.url, client }, prefix, { ...options, state: 'unknown' });
  const envOf = (prefix: string) => ({ REDIS_URL: server.url, REDIS_PREFIX: prefix });
  const left = async (prefix: string) => {
    const { stdout } = await run(['failures', '--state', 'unknown', '--json'], envOf(prefix));
    return (JSON.parse(stdout) as { matching: number }).matching;
  };
  /** Ids of the resolved notices by decision, as they are in the audit stream. */
  const decided = async (keys: Keys) => {
    const by = new Map<string, string[]>();
    for (const { what, as, target } of await readAudit(client, keys, 20_000)) {
      if (what === 'decide') by.set(as, [...(by.get(as) ?? []), target]);
    }
    return by;
  };
  /** What the service gets once a worker runs. */
  const sent = async (prefix: string, count: number) => {
    const worker = await startWorkerInProcess(server.url, prefix);
    const arrived = () => worker.emulator.record().contacts >= count;
    await until(arrived, { what: 'the notices at the service', ...LONG });
    await worker.stop();
    return worker.emulator.record();
  };

  it('are decided once each by callers at the same time, over HTTP, by a command and by age', async () => {
    const prefix = 'once';
    const { keys, ids } = await unknown(prefix, { count: 4_000, code: 'TIMEOUT' });
    await unknown(prefix, { count: 4_000, from: 4_000, code: 'ECONNRESET' });
    await unknown(prefix, { count: 2_000, from: 8_000, code: 'HTTP_500', template: 'SLOW' });
    expect(ids).toHaveLength(4_000);
    const bench = await startOps(server.url, prefix);
    const operator = await bench.operator();

    // A request is bounded in time: it is repeated until nothing is left.
    const overHttp = async (): Promise<number> => {
      let resolved = 0;
      for (;;) {
        const { json } = await operator.post(RESOLVE, { as: 'accepted', code: 'TIMEOUT', why });
        resolved += Number(json['done']);
        if (json['complete'] === true) return resolved;
      }
    };
    const flags = ['--code', 'TIMEOUT', '--as', 'accepted', '--yes', '--json'];
    const byCommand = async () =>
      (JSON.parse((await run(['decide', ...flags], envOf(prefix))).stdout) as DecideReport).done;
    const counts = await Promise.all([overHttp(), overHttp(), byCommand()]);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(4_000);

    const before = await commandsOf(server.url);
    const resend = await run(
      ['decide', '--code', 'ECONNRESET', '--as', 'resend', '--state', 'unknown', '--yes', '--json'],
      envOf(prefix),
    );
    expect(JSON.parse(resend.stdout)).toMatchObject({ done: 4_000, contacts: 4_000, gone: 0 });
    const perNotice = ((await commandsOf(server.url)) - before) / 4_000;
    console.info(`Redis commands for each notice that is sent again: ${perNotice.toFixed(1)}`);
    expect(perNotice).toBeLessThan(MOST_COMMANDS);

    // A negative age makes it the same for whatever was just recorded.
    expect(await acceptOldUnknown(bench.context, -60_000)).toMatchObject({ done: 2_000 });

    expect(await left(prefix)).toBe(0);
    expect(await client.exists(keys.endedIn('unknown'), keys.endedIn('again'))).toBe(0);
    const by = await decided(keys);
    const sums = [...by].map(([as, all]) => [as, [all.length, new Set(all).size]]);
    expect(Object.fromEntries(sums)).toEqual({
      'accepted unknown': [2_000, 2_000],
      'accepted unknown TIMEOUT': [4_000, 4_000],
      'resend unknown ECONNRESET': [4_000, 4_000],
    });
    expect(await sent(prefix, 4_000)).toMatchObject({
      contacts: 4_000,
      distinct: 4_000,
      twice: 0,
    });
  }, 240_000);
});
