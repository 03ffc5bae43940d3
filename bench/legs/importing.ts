import { createWriteStream } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { redisUsage, usedBetween } from '../harness/redis-meter.ts';
import type { Stage } from '../harness/stage.ts';
import type { Timed } from '../harness/timed.ts';
import { csvLines } from '../work.ts';

/** How long a list of millions may take. */
const LONGEST_MS = 300_000;

/** Writes a list of so many rows into the stage's folder. */
export async function writeList(stage: Stage, rows: number): Promise<string> {
  const file = path.join(stage.folder, `${rows}.csv`);
  await pipeline(Readable.from(csvLines(rows)), createWriteStream(file));
  return file;
}

/** Reads a list with csv-parse and nothing else, or imports it; figures are per row. */
export async function readList(
  stage: Stage,
  what: 'csv-parse' | 'import',
  file: string,
): Promise<Timed> {
  const before = await redisUsage(stage.redis);
  const process =
    what === 'import'
      ? stage.start('bench/programs/import-list.js', [stage.redisUrl, file])
      : stage.start('bench/programs/read-list.js', [file]);
  const { rows, ms } = await process.next<{ rows: number; ms: number }>('rows', LONGEST_MS);
  const used = await process.usage();
  await process.stop();
  const redis = usedBetween(before, await redisUsage(stage.redis));
  return {
    rate: (1_000 * rows) / ms,
    cpuUs: (1_000 * used.cpuMs) / rows,
    redisCpuUs: (1_000 * redis.cpuMs) / rows,
    serviceCpuUs: 0,
    redis,
    peakMb: used.peakMb,
  };
}
