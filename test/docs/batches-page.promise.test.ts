import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../scripts/redis/free-port.ts';
import { provideRedis } from '../../scripts/redis/provide-redis.ts';
import { Shell } from '../support/shell.ts';
import { until } from '../support/wait.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { serviceEnv } from '../emulator/running.ts';

const MINUTE = 60_000;

/** The commands of "An evening", by the number in their comment. */
const commands = new Map(
  (
    /^## An evening\n[\s\S]*?^```sh\n([\s\S]*?)^```$/m.exec(
      readFileSync('docs/batches.md', 'utf8'),
    )?.[1] ?? ''
  )
    .replaceAll(/\\\n\s*/g, '')
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [command = '', comment = ''] = line.split(/ {2,}# /);
      return [Number.parseInt(comment, 10), command] as const;
    }),
);

const timeOf = (at: number) => new Date(at).toISOString().slice(11, 16);

/** Sending hours of the coupons alone, from a minute on that leaves time for the evening after the start of the list. */
function hours(startAt: number): string {
  const opens = Math.ceil((startAt + 15_000) / MINUTE) * MINUTE;
  return `COUPON=${timeOf(opens)}-${timeOf(opens + 60 * MINUTE)} UTC`;
}

/** A terminal with the program, an emulator and a list in which one row has no name. */
async function terminal() {
  const folder = temporaryFolder();
  const redis = await provideRedis({ env: { ...process.env, REDIS_URL: undefined } });
  onTestFinished(() => redis.close());
  const port = await freePort();
  mkdirSync(path.join(folder, 'bin'));
  const program = path.join(folder, 'bin/notices');
  writeFileSync(program, `#!/bin/sh\nexec node ${process.cwd()}/dist/src/cli/main.js "$@"\n`);
  chmodSync(program, 0o755);
  const list = (count: number, from: number) =>
    Array.from({ length: count }, (_, row) => `0101${String(from + row).padStart(7, '0')},Kim`);
  const file = (name: string, rows: readonly string[]) =>
    writeFileSync(path.join(folder, name), `Phone,Name\n${rows.join('\n')}\n`);
  file('coupon.csv', [...list(39, 0), '01020000000,']);
  file('twenty.csv', list(20, 100));
  const shell = new Shell(folder, {
    PATH: `${folder}/bin:${process.env['PATH'] ?? ''}`,
    HOME: folder,
    REDIS_URL: redis.url,
    ...serviceEnv(`http://127.0.0.1:${port}`),
  });
  onTestFinished(() => shell.close());
  await shell.run(`notices emulator --port ${port} > emulator.log &`);
  return { folder, shell };
}

it('docs/batches.md: the commands of the evening run as printed, and the rows of the file add up', async () => {
  expect([...commands.keys()]).toEqual([1, 2, 3, 4, 5, 6, 7]);
  const { folder, shell } = await terminal();
  let nine = '2026-11-30T21:00:00+09:00';
  const step = (number: number) =>
    shell.run((commands.get(number) ?? '').replaceAll(/2026-11-30T21:00:00\+09:00/g, nine));
  const read = (name: string) => readFileSync(path.join(folder, name), 'utf8');
  const startedAt = Date.now();
  expect(await step(1)).toContain('rejected    1');
  // After two imports, as long as one command takes on this machine.
  const startAt = Date.now() + 4_000 + 6 * (Date.now() - startedAt);
  nine = new Date(startAt).toISOString();
  await shell.run(`SEND_WINDOWS='${hours(startAt)}' notices worker > worker.log &`);
  await step(2);
  const corrected = read('coupon.csv.rejected.csv').replace(
    '"01020000000",""',
    '"01020000000","Kim"',
  );
  writeFileSync(path.join(folder, 'coupon.csv.rejected.csv'), corrected);
  await step(3);
  expect(await step(4)).toContain('20');
  await step(5);
  await until(async () => (await step(6)).includes('its sending hours (SEND_WINDOWS)'), {
    what: 'the start, and the hours that are closed',
    deadlineMs: 30_000,
  });
  for (const id of ['coupon', 'coupon-fixed']) {
    await shell.run(`notices batch ${id} --watch`);
  }
  await step(7);
  const states = read('results.csv').trim().split('\n').slice(1);
  expect(states).toHaveLength(40);
  expect(states.filter((row) => row.includes('accepted'))).toHaveLength(39);
}, 240_000);
