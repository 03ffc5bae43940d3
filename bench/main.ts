/**
 * `npm run bench`: what notice-queue costs, beside what its users would write instead, in one run on
 * one machine. What it measures and how is in bench/figures.md; docs/scaling.md calculates with it.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import { openStage } from './harness/stage.ts';
import { counts } from './legs/counts.ts';
import { measure } from './measure.ts';
import { readOptions, USAGE, type BenchOptions } from './options.ts';
import { figures } from './report/figures.ts';
import { between } from './report/page.ts';
import { scalingPage } from './report/scaling-page.ts';
import { countTable } from './report/tables.ts';
import type { Results } from './results.ts';

const PAGE = 'bench/figures.md';
const SCALING = 'docs/scaling.md';

const say = (line: string) => process.stdout.write(`${line}\n`);

async function quick(): Promise<number> {
  const stage = await openStage(false);
  try {
    const counted = await counts(stage);
    say(countTable(counted));
    const beyond = counted.filter(({ count, atMost }) => count > (atMost ?? Infinity));
    for (const { what, count, atMost } of beyond) {
      say(`${what}: ${count} is more than ${atMost ?? ''}`);
    }
    return beyond.length === 0 ? 0 : 1;
  } finally {
    await stage.close();
  }
}

async function full(options: BenchOptions): Promise<number> {
  const withPostgres = options.legs.has('singles') || options.legs.has('chunks');
  const stage = await openStage(withPostgres);
  let results: Results;
  try {
    if (stage.postgresUrl === undefined && withPostgres) {
      say('graphile-worker and pg-boss are left out: there is no PostgreSQL on this machine');
    }
    results = await measure(stage, options, say);
  } finally {
    await stage.close();
  }
  say(figures(results));
  if (options.writes) {
    await writeFormatted('bench/results.json', JSON.stringify(results));
    await writeFile(SCALING, scalingPage(await readFile(SCALING, 'utf8'), results));
    await writeFormatted(PAGE, between(await readFile(PAGE, 'utf8'), 'figures', figures(results)));
  }
  return 0;
}

/** Writes a file as `npm run check:format` expects it. */
async function writeFormatted(path: string, text: string): Promise<void> {
  const style = await resolveConfig(path);
  await writeFile(path, await format(text, { ...style, filepath: path }));
}

let options: BenchOptions | undefined;
try {
  options = readOptions(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n\n${USAGE}`);
  process.exitCode = 2;
}
if (options !== undefined) process.exitCode = await (options.quick ? quick() : full(options));
