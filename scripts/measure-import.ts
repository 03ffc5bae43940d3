/**
 * Measures the import: seconds, rows a second and the peak of the process's memory for 1,000,000 and
 * 4,000,000 rows, and what a waiting contact takes in Redis.
 *
 *   npm run build && REDIS_URL=redis://127.0.0.1:6379 node dist/scripts/measure-import.js
 *
 * It writes under a prefix of its own and removes it. Without REDIS_URL it measures dry runs alone.
 */
import { spawnSync } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { NoticeQueue } from '../src/index.ts';

const SIZES = [1_000_000, 4_000_000];
const PREFIX = `measure-${process.pid}`;

/** Measurements of one import. */
interface Measured {
  readonly seconds: number;
  readonly peakMb: number;
  readonly bytes: number;
}

function* rows(count: number): Generator<string> {
  yield 'contact,var1,var2\n';
  for (let index = 0; index < count; index++) {
    yield `010${String(10_000_000 + index)},홍길동${index % 1_000},주문-${index}\n`;
  }
}

/** Measures one import in this process. */
async function measure(file: string, redisUrl: string): Promise<void> {
  const queue = new NoticeQueue({
    ...(redisUrl === '' ? {} : { redis: { url: redisUrl } }),
    prefix: process.argv[4] ?? PREFIX,
    highWater: 1_000_000_000,
  });
  const begun = performance.now();
  const { bytes } = await queue.import(file, {
    templateCode: 'T',
    again: true,
    dryRun: redisUrl === '',
  });
  const measured: Measured = {
    seconds: (performance.now() - begun) / 1_000,
    peakMb: process.resourceUsage().maxRSS / 1_024,
    bytes,
  };
  await queue.close();
  console.log(JSON.stringify(measured));
}

async function usedBy(redis: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
}

async function main(): Promise<void> {
  const redisUrl = process.env['REDIS_URL'] ?? '';
  const redis = redisUrl === '' ? undefined : new Redis(redisUrl);
  const folder = await mkdtemp(path.join(tmpdir(), 'notice-measure-'));
  try {
    for (const [at, size] of SIZES.entries()) {
      const file = path.join(folder, `${size}.csv`);
      await pipeline(Readable.from(rows(size)), createWriteStream(file));
      const before = redis && (await usedBy(redis));
      const self = fileURLToPath(import.meta.url);
      const child = spawnSync(process.execPath, [self, file, redisUrl, `${PREFIX}-${at}`], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const { seconds, peakMb, bytes } = JSON.parse(child.stdout) as Measured;
      const used = redis && before && (await usedBy(redis)) - before;
      console.log(
        [
          `${size} rows: ${seconds.toFixed(1)} s`,
          `${Math.round(size / seconds)} rows/s`,
          `peak ${Math.round(peakMb)} MB`,
          `${(bytes / size).toFixed(1)} B a contact reported`,
          ...(used === undefined ? [] : [`${(used / size).toFixed(1)} B in Redis`]),
        ].join(', '),
      );
      if (redis !== undefined) await removeKeys(redis, `${PREFIX}-${at}`);
    }
  } finally {
    redis?.disconnect();
    await rm(folder, { recursive: true });
  }
}

async function removeKeys(redis: Redis, prefix: string): Promise<void> {
  for await (const keys of redis.scanStream({ match: `{${prefix}:*`, count: 1_000 })) {
    if ((keys as string[]).length > 0) await redis.unlink(...(keys as string[]));
  }
}

const [, , file, redisUrl] = process.argv;
await (file === undefined ? main() : measure(file, redisUrl ?? ''));
