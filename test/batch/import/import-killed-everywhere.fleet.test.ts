import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { testRedis } from '../../support/redis.ts';
import { commandGate } from '../support/command-gate.ts';
import { csvList, numberOf } from '../support/csv-list.ts';
import { importWorld, listFile } from '../support/import-world.ts';

const redis = testRedis();
const IMPORTER = fileURLToPath(new URL('../support/importer.mjs', import.meta.url));
const ROWS = 250;

/** Runs the importer, which is killed after so many commands. @returns whether it was killed */
async function run(prefix: string, file: string, commands: number): Promise<boolean> {
  const kill = () => child.kill('SIGKILL');
  const gate = await commandGate(Number(new URL(redis.url).port), commands, kill);
  const url = new URL(redis.url);
  url.port = String(gate.port);
  const child = spawn(process.execPath, [IMPORTER, url.href, prefix, file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  if (code !== 0 && signal !== 'SIGKILL') throw new Error(`the importer ended with ${code}`);
  return signal === 'SIGKILL';
}

it('an importer that is killed between any two commands is continued: nothing is lost, nothing is queued twice', async () => {
  const file = listFile(`${csvList(ROWS)}+82,x\n${numberOf(0)},again\n`);
  const expected = Array.from({ length: ROWS }, (_, index) => numberOf(index));
  let commands = 1;
  for (let isKilled = true; isKilled; commands++) {
    const world = importWorld(redis);
    isKilled = await run(world.prefix, file, commands);
    expect(await run(world.prefix, file, Infinity)).toBe(false);
    const [batch, ...others] = await world.ledger.list(10);
    const contacts = await world.contacts(batch?.id ?? '');
    expect([commands, others]).toStrictEqual([commands, []]);
    expect([commands, contacts.map(({ contact }) => contact)]).toStrictEqual([commands, expected]);
    expect([commands, batch]).toMatchObject([
      commands,
      { phase: 'sending', chunks: 3, queued: 3, refusedRows: 1, duplicateRows: 1 },
    ]);
    expect([commands, await world.ledger.unsent()]).toStrictEqual([commands, ROWS]);
    expect([commands, (await world.jobIds()).length]).toStrictEqual([commands, 3]);
  }
  // Fewer would mean that most commands were not seen.
  expect(commands).toBeGreaterThan(10);
}, 180_000);
