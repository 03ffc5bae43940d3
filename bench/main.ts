/**
 * `npm run bench`: what notice-queue costs, beside what its users would write instead, in one run on
 * one machine. What it measures and how is in bench/figures.md; docs/scaling.md calculates with it.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import { openStage } from './harness/stage.ts';
import { counts } from './legs/counts.ts';
import { profiles, type LegProfile } from './legs/profiles.ts';
import { measure } from './measure.ts';
import { readOptions, USAGE, type BenchOptions } from './options.ts';
import { charts } from './report/charts.ts';
import { changes, changeText, readResults } from './report/compare.ts';
import { figures } from './report/figures.ts';
import { between } from './report/page.ts';
import { publicationOf } from './report/publication.ts';
import { scalingPage } from './report/scaling-page.ts';
import { countTable, table } from './report/tables.ts';
import type { Results } from './results.ts';

const PAGE = 'bench/figures.md';
const SCALING = 'docs/scaling.md';
const CHARTS = 'bench/charts';

const { engines } = JSON.parse(await readFile('package.json', 'utf8')) as {
  readonly engines: { readonly node: string };
};
const publication = publicationOf(process.versions.node, engines.node);

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

async function profile(): Promise<number> {
  const stage = await openStage(false);
  try {
    const text = profileText(await profiles(stage));
    say(text);
    if (publication.isMain) await writePage('profiles', text);
    return 0;
  } finally {
    await stage.close();
  }
}

function profileText(legs: readonly LegProfile[]): string {
  const share = (figure: number) => `${(100 * figure).toFixed(1)} %`;
  return legs
    .map(({ leg, summary }) => {
      const rows = summary.modules.map(([module, ofModule], at) => {
        const [name = '', ofFunction] = summary.functions[at] ?? [];
        return [module, share(ofModule), name, ofFunction === undefined ? '' : share(ofFunction)];
      });
      return `### ${leg}\n\n${table(['module', 'share', 'function, by itself', 'share'], rows)}`;
    })
    .join('\n\n');
}

async function full(options: BenchOptions, earlier: Results | undefined): Promise<number> {
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
  if (earlier !== undefined) say(changeText(changes(earlier, results)));
  if (options.writes) {
    await writeFormatted(publication.results, JSON.stringify(results));
    if (publication.isMain) {
      await writeCharts(results);
      await writeFile(SCALING, scalingPage(await readFile(SCALING, 'utf8'), results));
    }
    await writePage(publication.part, publication.text(results));
  }
  return 0;
}

async function writeCharts(results: Results): Promise<void> {
  await mkdir(CHARTS, { recursive: true });
  for (const [name, svg] of charts(results)) await writeFile(`${CHARTS}/${name}`, svg);
}

async function writePage(name: string, text: string): Promise<void> {
  const page = between(await readFile(PAGE, 'utf8'), name, text);
  await writeFormatted(PAGE, page);
}

/** Writes a file as `npm run check:format` expects it. */
async function writeFormatted(path: string, text: string): Promise<void> {
  const style = await resolveConfig(path);
  await writeFile(path, await format(text, { ...style, filepath: path }));
}

let options: BenchOptions | undefined;
let earlier: Results | undefined;
try {
  const read = readOptions(process.argv.slice(2));
  // Before the run, which may write the same file.
  if (read.compare !== undefined) earlier = await readResults(read.compare);
  options = read;
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n\n${USAGE}`);
  process.exitCode = 2;
}
if (options !== undefined) {
  if (options.quick) process.exitCode = await quick();
  else if (options.profile) process.exitCode = await profile();
  else process.exitCode = await full(options, earlier);
}
