import { spreadOf } from '../harness/spread.ts';
import type { PageTime } from '../legs/pages.ts';
import { NAMES } from '../legs/single-sends.ts';
import type { Startup } from '../legs/startup.ts';
import type { Results } from '../results.ts';
import { count, countTable, raceTable, sharingTable, table, verdictTable } from './tables.ts';
import { verdicts } from './targets.ts';

/** The figures of a run as Markdown: the targets first, then the details. */
export function figures(results: Results): string {
  return [
    ...targetSection(results),
    ...section('Counts', results.counts, countTable),
    ...section('Start-up and memory', results.startup, startupTables),
    ...raceSection('Single sends', results.singles, 'contacts', NAMES.axios),
    ...raceSection('Chunks of 1,000 contacts', results.chunks, 'contacts', NAMES.axios),
    ...section('Chunks, with the emulator as the service', results.chunksEmulated, (race) =>
      raceTable(race, 'contacts', NAMES.axios),
    ),
    ...raceSection('The HTTP client alone', results.clients, 'requests', NAMES.undici),
    ...raceSection('Import', results.importing, 'rows', NAMES.csvParse),
    ...section('Peak memory of an import', results.importPeakMb, ({ million, fourMillion }) =>
      table(
        ['rows', 'MB'],
        [
          ['1,000,000', million.toFixed(0)],
          ['4,000,000', fourMillion.toFixed(0)],
        ],
      ),
    ),
    ...section('One notice in an idle system', results.latency, (latency) =>
      table(
        ['path', 'median ms', '99th percentile ms'],
        Object.entries(latency).map(([name, { p50Ms, p99Ms }]) => [
          name,
          spreadOf(p50Ms).median.toFixed(2),
          spreadOf(p99Ms).median.toFixed(2),
        ]),
      ),
    ),
    ...section('A notice while a batch is sent', results.draining, (draining) =>
      table(
        [
          'notices',
          'median ms',
          '99th percentile ms',
          'longest ms',
          'contacts of the batch per second',
        ],
        [
          [
            count(draining.notices),
            draining.p50Ms.toFixed(0),
            draining.p99Ms.toFixed(0),
            draining.maxMs.toFixed(0),
            count(draining.contactsPerSecond),
          ],
        ],
      ),
    ),
    ...growthSection(results),
    ...section('Pages of the ops server', results.pages, pagesTable),
    ...section('Processes', results.processes, (processes) =>
      table(
        ['`--processes`', 'sends per second', 'spread'],
        Object.entries(processes).map(([number, rates]) => {
          const { median, min, max } = spreadOf(rates);
          return [number, count(median), `${count(min)} to ${count(max)}`];
        }),
      ),
    ),
    ...section('Workers that share one Redis', results.sharing, sharingTable),
    ...soakSection(results),
  ].join('\n\n');
}

function targetSection(results: Results): readonly string[] {
  return [machineText(results), '### Targets', verdictTable(verdicts(results))];
}

function machineText({ machine, rounds }: Results): string {
  const { cpu, cores, memoryGb, system, node, redis, packages, measuredOn, loadBefore } = machine;
  const versions = Object.entries(packages)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');
  return (
    `Measured on ${measuredOn}: ${cores} cores of ${cpu}, ${memoryGb} GB, ${system}, load ` +
    `${loadBefore} before the run; Node ${node}, Redis ${redis} with an append-only file on the ` +
    `same machine; ${versions}. Medians of ${rounds} rounds, contestants in turns; a ratio is the ` +
    `median of the ratios within each round.`
  );
}

function section<T>(
  title: string,
  found: T | undefined,
  show: (found: T) => string,
): readonly string[] {
  return found === undefined ? [] : [`### ${title}`, show(found)];
}

function raceSection(
  title: string,
  race: Results['singles'],
  unit: string,
  reference: string,
): readonly string[] {
  if (race === undefined) return [];
  return [`### ${title}`, raceTable(race, unit, reference)];
}

function growthSection({ growth }: Results): readonly string[] {
  if (growth === undefined) return [];
  return [
    '### Cost as the queue grows',
    table(
      [
        'jobs waiting',
        'sends per second',
        'CPU µs per send',
        'Redis µs per send',
        'bytes in Redis per job',
      ],
      growth.map(({ kind, jobs, rate, cpuUs, redisCpuUs, bytesEach }) => [
        `${count(jobs)} ${kind}`,
        count(rate),
        cpuUs.toFixed(0),
        redisCpuUs.toFixed(0),
        count(bytesEach),
      ]),
    ),
  ];
}

/** From the start of a process to its end, and the memory of a worker. */
function startupTables({ ms, workerMb }: Startup): string {
  const rows = (named: Readonly<Record<string, readonly number[]>>) =>
    Object.entries(named).map(([name, figures]) => {
      const { median, min, max } = spreadOf(figures);
      return [name, median.toFixed(0), `${min.toFixed(0)} to ${max.toFixed(0)}`];
    });
  const { idle, loaded } = workerMb;
  return [
    table(['program, from its start to its end', 'ms', 'spread'], rows(ms)),
    table(['worker', 'MB', 'spread'], rows({ idle, 'after 20,000 single sends': loaded })),
  ].join('\n\n');
}

/** Every page at every size. */
function pagesTable(times: readonly PageTime[]): string {
  return table(
    ['page', 'jobs waiting', 'median ms', 'longest ms'],
    times.map(({ page, jobs, medianMs, worstMs }) => [
      `\`${page}\``,
      count(jobs),
      medianMs.toFixed(1),
      worstMs.toFixed(1),
    ]),
  );
}

/** One line per minute. */
function soakSection({ soak }: Results): readonly string[] {
  if (soak === undefined) return [];
  const some = soak.filter(({ seconds }) => seconds % 60 === 0);
  return [
    '### Memory under constant load',
    table(
      ['seconds', 'sent', 'worker MB', 'Redis MB'],
      some.map(({ seconds, sent, workerMb, redisMb }) => [
        String(seconds),
        count(sent),
        workerMb.toFixed(0),
        redisMb.toFixed(1),
      ]),
    ),
  ];
}
