import { readFile } from 'node:fs/promises';
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os';

/** Where and with what the figures were measured. */
export interface Machine {
  readonly measuredOn: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  /** Load of the machine when the run began: above 1, others were at work. */
  readonly loadBefore: number;
  readonly node: string;
  readonly redis: string;
  readonly packages: Readonly<Record<string, string>>;
}

const PACKAGES = [
  'bullmq',
  'ioredis',
  'axios',
  'axios-retry',
  'undici',
  'csv-parse',
  'bee-queue',
  'graphile-worker',
  'pg-boss',
] as const;

/** @param redis version of the server */
export async function describeMachine(redis: string): Promise<Machine> {
  const packages = await Promise.all(
    PACKAGES.map(async (name): Promise<[string, string]> => {
      const file = new URL(`../../../node_modules/${name}/package.json`, import.meta.url);
      const { version } = JSON.parse(await readFile(file, 'utf8')) as { version: string };
      return [name, version];
    }),
  );
  return {
    measuredOn: new Date().toISOString().slice(0, 10),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()} ${arch()}`,
    loadBefore: Math.round((loadavg()[0] ?? 0) * 10) / 10,
    node: process.versions.node,
    redis,
    packages: Object.fromEntries(packages),
  };
}
