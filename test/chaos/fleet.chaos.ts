import { writeFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { DELIVERY_POLICIES } from '../../src/contracts/delivery.ts';
import { SCENARIOS } from './scenarios.ts';
import { play, type Aftermath } from './stage.ts';

/** A row of the report. */
interface Row extends Aftermath {
  readonly name: string;
  readonly delivery: string;
}

const rows: Row[] = [];

describe.each(DELIVERY_POLICIES)('%s', (delivery) => {
  it.each(SCENARIOS)('$name', async ({ name, disturb, recoveryMs }) => {
    const after = await play(delivery, disturb);
    rows.push({ name, delivery, ...after });
    const { counts } = after.batch;
    expect(after.wrongSums).toBe(0);
    expect(after.looks).toBeGreaterThan(20);
    expect(after.lost).toBe(0);
    expect(counts.rejected + counts.expired + counts.cancelled + counts.pending).toBe(0);
    // Doubles only where the ledger has counted an unknown outcome; none at all under at-most-once.
    expect(after.twice).toBeLessThanOrEqual(counts.maybeTwice);
    expect(delivery === 'at-most-once' ? counts.maybeTwice : counts.unknown).toBe(0);
    expect(after.recoveryMs).toBeLessThanOrEqual(recoveryMs);
  });
});

afterAll(() => {
  // A run of a part of the suite is no report.
  if (rows.length < SCENARIOS.length * DELIVERY_POLICIES.length) return;
  writeFileSync('docs/reliability.md', reportOf(rows));
});

function reportOf(all: readonly Row[]): string {
  const table = DELIVERY_POLICIES.map((delivery) => {
    const lines = all
      .filter((row) => row.delivery === delivery)
      .map(
        ({ name, lost, twice, batch, issued, recoveryMs }) =>
          `| ${name} | ${lost} | ${twice} | ${batch.counts.maybeTwice} | ${batch.counts.unknown} | ${issued} | ${recoveryMs} |`,
      );
    return [
      `## ${delivery}`,
      '',
      '| scenario | lost | sent twice | counted as possibly twice | unknown | tokens issued | recovery ms |',
      '|---|---|---|---|---|---|---|',
      ...lines,
    ].join('\n');
  });
  return [
    '<!-- Written by `npm run test:chaos`: do not edit. -->',
    '<!-- prettier-ignore-start -->',
    '',
    '# Reliability',
    '',
    'A list of 4,000 contacts in chunks of 4 is sent by three worker processes over a real Redis while',
    'something is broken on purpose; the record of the emulator is the judge. Nothing may be lost, the',
    'states of the batch must add up at every look (some sixty a second), and a number may be sent',
    'twice only where the ledger has counted an unknown outcome. Recovery is the time from the end of',
    'the fault to the next accepted send.',
    '',
    ...table.flatMap((part) => [part, '']),
    '<!-- prettier-ignore-end -->',
    '',
  ].join('\n');
}
