import { readFile } from 'node:fs/promises';
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os';

const PACKAGES = ['bullmq', 'ioredis', 'axios', 'axios-retry', 'undici', 'csv-parse'];

/** Where and with what the figures are measured. @param redis version of the server */
export async function machineText(redis: string, rounds: number): Promise<string> {
  const packages = await Promise.all(
    PACKAGES.map(async (name) => {
      const file = new URL(`../../../node_modules/${name}/package.json`, import.meta.url);
      const { version } = JSON.parse(await readFile(file, 'utf8')) as { version: string };
      return `${name} ${version}`;
    }),
  );
  const cpu = cpus()[0]?.model.trim() ?? 'unknown';
  const memoryGb = Math.round(totalmem() / 2 ** 30);
  return (
    `Measured on ${new Date().toISOString().slice(0, 10)}: ${availableParallelism()} cores of ${cpu}, ` +
    `${memoryGb} GB, ${platform()} ${release()} ${arch()}, load ${(loadavg()[0] ?? 0).toFixed(1)} before the run; ` +
    `Node ${process.versions.node}, Redis ${redis} with an append-only file on the same machine; ` +
    `${packages.join(', ')}. Medians of ${rounds} rounds.`
  );
}
