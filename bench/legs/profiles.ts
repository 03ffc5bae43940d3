import { summaryOf, type ProfileSummary } from '../report/profile-summary.ts';
import type { MeasuredProcess } from '../harness/measured-process.ts';
import type { Stage } from '../harness/stage.ts';
import { CHUNK_SIZE } from '../work.ts';
import { importContacts } from './chunks.ts';
import { writeList } from './importing.ts';
import { fillOurs, startOurs } from './single-sends.ts';

/** The profile of one leg. */
export interface LegProfile {
  readonly leg: string;
  readonly summary: ProfileSummary;
}

const SINGLES = { warm: 4_000, all: 24_000 };
const CHUNKS = { warm: 100_000, all: 900_000 };
const TOLD = 12;

/** Profiles our program in each leg, warm. */
export async function profiles(stage: Stage): Promise<LegProfile[]> {
  const all: LegProfile[] = [];
  await stage.clear();
  await fillOurs(stage, 'bench', SINGLES.all);
  const single = await profiled(stage, () => startOurs(stage, 'bench'), SINGLES);
  all.push({ leg: 'Single sends, one contact a request', summary: single });

  const sink = await stage.withSink(CHUNK_SIZE);
  await sink.clear();
  await importContacts(sink, 'bench', CHUNKS.all);
  const summary = await profiled(sink, () => startOurs(sink, 'bench'), CHUNKS);
  all.push({ leg: 'Chunks of 1,000 contacts', summary });

  await stage.clear();
  all.push({ leg: 'Import of a list', summary: await importProfile(stage) });
  return all;
}

async function profiled(
  stage: Stage,
  start: () => MeasuredProcess,
  totals: { readonly warm: number; readonly all: number },
): Promise<ProfileSummary> {
  stage.service.send({ reach: totals.warm });
  stage.service.send({ reach: totals.all });
  const worker = start();
  try {
    await stage.service.next('reached');
    await worker.startProfile();
    await stage.service.next('reached');
    return summaryOf(await worker.stopProfile(), TOLD);
  } finally {
    await worker.stop();
  }
}

async function importProfile(stage: Stage): Promise<ProfileSummary> {
  const file = await writeList(stage, 2_000_000);
  const importer = stage.start('bench/programs/import-list.js', [stage.redisUrl, file]);
  try {
    await importer.startProfile();
    await importer.next('rows');
    return summaryOf(await importer.stopProfile(), TOLD);
  } finally {
    await importer.stop();
  }
}
