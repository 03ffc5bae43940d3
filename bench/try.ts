import { openStage } from './harness/stage.ts';
import { SENDERS, singleTotals } from './legs/single-sends.ts';
const stage = await openStage(true);
try {
  const only = process.argv[3];
  for (let r = 0; r < Number(process.argv[2] ?? 1); r++)
    for (const s of SENDERS) {
      if (!s.possible(stage) || (only && !s.name.includes(only))) continue;
      await stage.clear();
      const t = await s.run(stage, singleTotals(20_000));
      console.log(
        s.name.padEnd(40),
        Math.round(t.rate),
        'cpu',
        t.cpuUs.toFixed(0),
        'redis',
        t.redisCpuUs.toFixed(0),
        'svc',
        t.serviceCpuUs.toFixed(0),
        'peak',
        t.peakMb.toFixed(0),
        'evalsha',
        t.redis.commands['evalsha'],
      );
    }
} finally {
  await stage.close();
}
