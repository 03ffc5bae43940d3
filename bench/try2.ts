import { writeFileSync } from 'node:fs';
import { openStage } from './harness/stage.ts';
import { awaitTotals } from './harness/timed.ts';
import { startOurs } from './legs/single-sends.ts';
import { NoticeQueue } from '../src/queue/notice-queue.ts';
import { notices } from './work.ts';
const stage = await openStage(false);
try {
  const n = Number(process.argv[2] ?? 10000);
  const q = new NoticeQueue({ redis: { url: stage.redisUrl }, prefix: 'bench' });
  for (let f = 0; f < n; f += 1000) await q.sendMany(notices(1000, f));
  await q.close();
  awaitTotals(stage, { warm: 2000, all: n });
  const w = startOurs(stage, 'bench', {
    COALESCE_MAX_CONTACTS: '1',
    ...(JSON.parse(process.argv[3] ?? '{}') as Record<string, string>),
  });
  await stage.service.next('reached', 300_000);
  const a = await w.usage();
  await w.startProfile();
  await stage.service.next('reached', 300_000);
  const b = await w.usage();
  writeFileSync('/tmp/w/bench/scratch/worker.cpuprofile', JSON.stringify(await w.stopProfile()));
  console.log('cpu us', ((b.cpuMs - a.cpuMs) * 1000) / (n - 2000));
  await w.stop();
} finally {
  await stage.close();
}
