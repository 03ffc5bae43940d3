import { openStage } from './harness/stage.ts';
import { CHUNK_SENDERS, chunkTotals } from './legs/chunks.ts';
const base = await openStage(false);
const stage = await base.withSink(1000);
try {
  const only = process.argv[3];
  for (let r = 0; r < Number(process.argv[2] ?? 1); r++)
    for (const s of CHUNK_SENDERS) {
      if (!s.possible(stage) || (only && !s.name.includes(only))) continue;
      await stage.clear();
      const t = await s.run(stage, chunkTotals(Number(process.argv[4] ?? 500_000)));
      console.log(
        s.name.padEnd(40),
        Math.round(t.rate),
        'cpu us/1000',
        (t.cpuUs * 1000).toFixed(0),
        'redis',
        (t.redisCpuUs * 1000).toFixed(0),
        'svc',
        (t.serviceCpuUs * 1000).toFixed(0),
        'peak',
        t.peakMb.toFixed(0),
        'evalsha',
        t.redis.commands['evalsha'],
      );
    }
} finally {
  await stage.close();
}
