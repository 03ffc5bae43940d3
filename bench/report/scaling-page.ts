import { formatSize } from '../../src/format/format.ts';
import type { Results } from '../results.ts';
import { between } from './page.ts';
import {
  costsOf,
  endOfQueue,
  inFlight,
  needOf,
  PLANNED_SHARE,
  type ContactCosts,
  type Way,
} from './scaling.ts';
import { count, table } from './tables.ts';

/** Contacts an hour for which the page has the calculation. */
const HOURLY = [1_000_000, 10_000_000, 100_000_000];
/** Times that a service may take to answer, in milliseconds. */
const ANSWERS_MS = [20, 100, 500];

/** The ways with their titles, and the default of CONCURRENCY or BATCH_CONCURRENCY. */
const WAYS: readonly { readonly way: Way; readonly title: string; readonly concurrency: number }[] =
  [
    { way: 'alone', title: 'notices alone', concurrency: 32 },
    { way: 'chunks', title: 'chunks of 1,000', concurrency: 8 },
  ];

/**
 * Replaces the tables of docs/scaling.md.
 *
 * @throws Error for a page without the markers
 */
export function scalingPage(page: string, results: Results): string {
  const tables = {
    constants: constantsTable(results),
    calculation: calculationTable(results),
    queue: endTable(results),
    flight: flightTable(results),
  };
  return Object.entries(tables).reduce(
    (text, [name, shown]) => between(text, name, unformatted(shown), 'npm run docs'),
    page,
  );
}

/** The text is compared with the generated one: prettier must not align the columns of a table. */
const unformatted = (text: string) =>
  `<!-- prettier-ignore-start -->\n\n${text}\n\n<!-- prettier-ignore-end -->`;

/** A figure that the results may lack. */
const shown = (figure: number, show: (figure: number) => string) =>
  Number.isNaN(figure) ? 'not measured yet' : show(figure);

/** Three digits are more than a plan needs. */
function amount(figure: number): string {
  if (figure >= 100) return count(Number(figure.toPrecision(3)));
  if (figure >= 10) return figure.toFixed(0);
  return figure < 0.01 ? '< 0.01' : String(Number(figure.toPrecision(2)));
}

const megabits = (bits: number) => `${amount(bits / 1_000_000)} Mbit/s`;

function constantsTable(results: Results): string {
  const costs = WAYS.map(({ way }) => costsOf(results, way));
  const row = (title: string, figure: (costs: ContactCosts) => number) => [
    title,
    ...costs.map((each) => shown(figure(each), amount)),
  ];
  return table(
    ['a contact', ...WAYS.map(({ title }) => title)],
    [
      row('CPU of a worker process, µs', ({ workerUs }) => workerUs),
      row('CPU of Redis for queueing, µs', ({ queueingUs }) => queueingUs),
      row('CPU of Redis for sending, µs', ({ sendingUs }) => sendingUs),
      row('bytes to and from Redis', ({ redisBytes }) => redisBytes),
      row('bytes in Redis while it waits', ({ storedBytes }) => storedBytes),
      row('requests to the service', ({ requests }) => requests),
      row('bytes to and from the service', ({ serviceBytes }) => serviceBytes),
    ],
  );
}

/** One row for each number of contacts and way. */
function rowsOf(
  results: Results,
  cells: (need: ReturnType<typeof needOf>, concurrency: number) => readonly string[],
): readonly (readonly string[])[] {
  return HOURLY.flatMap((hourly) =>
    WAYS.map(({ way, title, concurrency }) => [
      count(hourly),
      title,
      ...cells(needOf(costsOf(results, way), hourly), concurrency),
    ]),
  );
}

function calculationTable(results: Results): string {
  return table(
    [
      'contacts an hour',
      'sent as',
      'contacts a second',
      'requests a second',
      'cores of workers',
      'cores of Redis',
      'accounts',
      'memory of Redis',
      'to and from Redis',
      'to and from the service',
    ],
    rowsOf(results, (need) => [
      shown(need.contactsPerSecond, amount),
      shown(need.requestsPerSecond, amount),
      shown(need.workerCores, amount),
      shown(need.redisCores, amount),
      shown(need.queues, count),
      shown(need.waitingBytes, formatSize),
      shown(need.redisBits, megabits),
      shown(need.serviceBits, megabits),
    ]),
  );
}

function endTable(results: Results): string {
  return table(
    [
      'sent as',
      'contacts a second of one account',
      'contacts an hour',
      'contacts a second at 100 % of the core',
    ],
    WAYS.map(({ way, title }) => {
      const end = endOfQueue(costsOf(results, way));
      return [
        title,
        shown(end, amount),
        shown(end * 3_600, amount),
        shown(end / PLANNED_SHARE, amount),
      ];
    }),
  );
}

function flightTable(results: Results): string {
  return table(
    ['contacts an hour', 'sent as', ...ANSWERS_MS.map((ms) => `in flight at ${ms} ms (processes)`)],
    rowsOf(results, ({ requestsPerSecond }, concurrency) =>
      ANSWERS_MS.map((ms) =>
        shown(
          inFlight(requestsPerSecond, ms),
          (requests) => `${amount(requests)} (${count(Math.ceil(requests / concurrency))})`,
        ),
      ),
    ),
  );
}
