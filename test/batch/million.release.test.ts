import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { Ledger } from '../../src/batch/ledger/ledger.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { fleetOn } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';

const ROWS = 1_000_000;
/** Every so many rows one has a plus sign, and is refused. */
const WRONG_EVERY = 1_000;
const CLI = new URL('../../dist/src/cli/main.js', import.meta.url).pathname;

const numberOf = (row: number) => `010${String(row).padStart(8, '0')}`;
const isWrong = (row: number) => row % WRONG_EVERY === 0;

function* lines(): Generator<string> {
  yield 'contact,var1,var2\n';
  let block = '';
  for (let row = 0; row < ROWS; row++) {
    const contact = isWrong(row) ? `+82${numberOf(row)}` : numberOf(row);
    block += `${contact},김민준,A-${100_000 + row}\n`;
    if (row % 1_000 === 999) {
      yield block;
      block = '';
    }
  }
}

describe('a list of a million', () => {
  const redis = testRedis();
  let folder = '';

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('arrives from the file at the service: the same set, none twice', async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'notices-million-'));
    const file = path.join(folder, 'million.csv');
    await pipeline(Readable.from(lines()), createWriteStream(file));
    expect(statSync(file).size).toBeGreaterThan(30_000_000);
    const prefix = redis.freshPrefix();
    const on = await fleetOn(redis, { prefix, processes: 2 });

    const importer = spawn(
      process.execPath,
      [CLI, 'import', file, '--template', 'MILLION', '--batch', 'million', '--json'],
      { env: { ...on.env }, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [output] = await Promise.all([text(importer.stdout), once(importer, 'exit')]);
    expect(importer.exitCode).toBe(0);
    expect(output).toContain('"contacts"');

    const refused = ROWS / WRONG_EVERY;
    const ledger = new Ledger(redis.client, keysOf(prefix, 'default'));
    const batch = await until(
      async () => {
        const found = await ledger.read('million');
        return found?.phase === 'finished' ? found : undefined;
      },
      { what: 'the end of the batch', deadlineMs: 120_000, everyMs: 200 },
    );
    expect(batch.counts).toMatchObject({
      total: ROWS - refused,
      accepted: ROWS - refused,
      rejected: 0,
      unknown: 0,
      pending: 0,
    });
    expect(batch.refusedRows).toBe(refused);
    expect(on.emulator.record()).toMatchObject({ contacts: ROWS - refused, twice: 0 });

    const taken = new Set([...on.emulator.contacts()].map(({ contact }) => contact));
    let missing = 0;
    for (let row = 0; row < ROWS; row++) {
      if (taken.has(numberOf(row)) === isWrong(row)) missing++;
    }
    expect(missing).toBe(0);
    expect(taken.size).toBe(ROWS - refused);
  }, 240_000);
});
