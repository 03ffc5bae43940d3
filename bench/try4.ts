import { writeFileSync } from 'node:fs';
import { openStage } from './harness/stage.ts';
import { awaitTotals } from './harness/timed.ts';
import { startOurs } from './legs/single-sends.ts';
import { importContacts } from './legs/chunks.ts';
const base = await openStage(false);
const stage = await base.withSink(1000);
try {
  const n = Number(process.argv[2] ?? 600_000);
  await importContacts(stage, 'bench', n);
  awaitTotals(stage, { warm: 100_000, all: n });
  const w = startOurs(stage, 'bench', { ...JSON.parse(process.argv[3] ?? '{}') as Record<string,string> });
  await stage.service.next('reached', 300_000);
  const a = await w.usage();
  await w.startProfile();
  await stage.service.next('reached', 300_000);
  const b = await w.usage();
  writeFileSync('/tmp/w/bench/scratch/chunks.cpuprofile', JSON.stringify(await w.stopProfile()));
  console.log('cpu us', (b.cpuMs - a.cpuMs) * 1e6 / (n - 100_000), (n-1e5)/(b.atMs-a.atMs)*1000);
  await w.stop();
} finally { await stage.close(); }
