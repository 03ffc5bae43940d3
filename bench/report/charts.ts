import { spreadOf } from '../harness/spread.ts';
import type { Race, Results, Rounds } from '../results.ts';
import { barChart, type Bar } from './chart.ts';
import { count } from './tables.ts';

/** SVG files by name, for what the run measured. */
export function charts(results: Results): ReadonlyMap<string, string> {
  const { singles, chunks, clients, importing, growth } = results;
  const drawn: [string, string | undefined][] = [
    [
      'single-sends.svg',
      draw(singles, 'Single sends', 'contacts per second; whiskers: the rounds', 'rate', count),
    ],
    [
      'single-sends-cpu.svg',
      draw(
        singles,
        'CPU of a single send',
        'microseconds of the process; lower is better',
        'cpuUs',
        us,
      ),
    ],
    [
      'chunks.svg',
      draw(chunks, 'A million contacts in chunks of 1,000', 'contacts per second', 'rate', count),
    ],
    [
      'http-clients.svg',
      draw(
        clients,
        'The HTTP client alone',
        'CPU microseconds per request; lower is better',
        'cpuUs',
        us,
      ),
    ],
    ['import.svg', draw(importing, 'A list of a million rows', 'rows per second', 'rate', count)],
    [
      'growth.svg',
      growth === undefined
        ? undefined
        : barChart(
            'Cost of a send as the queue grows',
            'CPU microseconds per send, worker and Redis together; lower is better',
            growth.map(({ kind, jobs, cpuUs, redisCpuUs }) => ({
              label: `${count(jobs)} ${kind}`,
              value: cpuUs + redisCpuUs,
              ours: true,
            })),
            us,
          ),
    ],
  ];
  return new Map(drawn.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

const us = (figure: number) => `${figure.toFixed(figure < 10 ? 1 : 0)} µs`;

function draw(
  race: Race | undefined,
  title: string,
  subtitle: string,
  figure: keyof Rounds,
  show: (value: number) => string,
): string | undefined {
  if (race === undefined) return undefined;
  const bars = Object.entries(race).map(([label, rounds]): Bar => {
    const { median, min, max } = spreadOf(rounds[figure]);
    const ours = label.startsWith('notice-queue') || label === 'the service client';
    return { label, value: median, min, max, ours };
  });
  const best = figure === 'cpuUs' ? 1 : -1;
  bars.sort((left, right) => best * (left.value - right.value));
  return barChart(title, subtitle, bars, show);
}
