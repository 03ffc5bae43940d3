import { createWriteStream } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { race, type Rounds } from '../harness/race.ts';
import { redisUsage, usedBetween } from '../harness/redis-meter.ts';
import type { Stage } from '../harness/stage.ts';
import { csvLines } from '../work.ts';

/** How long a list of millions may take. */
const LONGEST_MS = 300_000;
const MILLION = 1_000_000;

/** An import of a million rows beside csv-parse, which only reads them; and its memory for four million. */
export async function importing(stage: Stage, rounds: Rounds): Promise<string> {
  const peaks: number[] = [];
  const contestant = (name: string, program: string, file: string) => ({
    name,
    run: async () => {
      const { peakMb, ...timed } = await readList(stage, program, file);
      if (program === 'import-list') peaks.push(peakMb);
      return timed;
    },
  });
  const file = await writeList(stage, MILLION);
  const table = await race(
    stage,
    [
      contestant('csv-parse, reading alone', 'read-list', file),
      contestant('notice-queue, import', 'import-list', file),
    ],
    ['csv-parse, reading alone'],
    rounds,
  );
  const four = await writeList(stage, 4 * MILLION);
  await stage.clear();
  const { peakMb } = await readList(stage, 'import-list', four);
  const most = Math.max(...peaks).toFixed(0);
  return `${table}\n\nPeak memory of an import: ${most} MB with 1,000,000 rows, ${peakMb.toFixed(0)} MB with 4,000,000.`;
}

/** Writes a list of so many rows into the stage's folder. */
async function writeList(stage: Stage, rows: number): Promise<string> {
  const file = path.join(stage.folder, `${rows}.csv`);
  await pipeline(Readable.from(csvLines(rows)), createWriteStream(file));
  return file;
}

/** Figures are per row. */
async function readList(stage: Stage, program: string, file: string) {
  const before = await redisUsage(stage.redis);
  const process = stage.start(`bench/programs/${program}.js`, [stage.redisUrl, file]);
  const { rows, ms } = await process.next<{ rows: number; ms: number }>('rows', LONGEST_MS);
  const used = await process.usage();
  await process.stop();
  const redis = usedBetween(before, await redisUsage(stage.redis));
  return {
    rate: (1_000 * rows) / ms,
    cpuUs: (1_000 * used.cpuMs) / rows,
    redisCpuUs: (1_000 * redis.cpuMs) / rows,
    serviceCpuUs: 0,
    peakMb: used.peakMb,
  };
}
