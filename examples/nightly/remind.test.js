const assert = require('node:assert/strict');
const { execFile, spawn } = require('node:child_process');
const { once } = require('node:events');
const { it } = require('node:test');
const { promisify } = require('node:util');
const { Pool } = require('pg');
const { startTestStack, waitFor } = require('notice-queue/testing');

const run = promisify(execFile);
const ROWS = 30_000;
const DAY = '2026-11-28';

it('queues each invoice of the day once, also when it is killed on the way', async (test) => {
  const pool = new Pool({ connectionString: process.env.DATABASE_URL });
  test.after(() => pool.end());
  const stack = await startTestStack({ redis: { url: process.env.REDIS_URL } });
  test.after(() => stack.stop());
  await pool.query(`drop table if exists invoice;
    create table invoice (id serial primary key, phone text, name text, amount text, due_on date)`);
  await pool.query(
    `insert into invoice (phone, name, amount, due_on) select '010' || (20000000 + n), 'Kim', '10,000',
     case when n <= $1 then $2::date else $2::date + 1 end from generate_series(1, $1::int + 100) n`,
    [ROWS, DAY],
  );

  // No more than this waits in Redis, so the import goes on while the first of it are sent.
  const env = { ...process.env, REDIS_PREFIX: stack.prefix, HIGH_WATER: '5000' };
  const killed = spawn(process.execPath, ['remind.js', DAY], { env, stdio: 'inherit' });
  await waitFor(() => stack.emulator.record().contacts > 0, { everyMs: 1, timeoutMs: 20_000 });
  const exit = once(killed, 'exit');
  killed.kill('SIGKILL');
  assert.deepEqual(await exit, [null, 'SIGKILL']);

  const again = async () =>
    JSON.parse((await run(process.execPath, ['remind.js', DAY], { env })).stdout);
  assert.deepEqual(await again(), { contacts: ROWS, refused: 0, alreadyImported: false });
  assert.deepEqual(await again(), { contacts: ROWS, refused: 0, alreadyImported: true });
  await waitFor(() => stack.emulator.record().contacts >= ROWS, { timeoutMs: 30_000 });
  const { contacts, distinct, twice } = stack.emulator.record();
  assert.deepEqual({ contacts, distinct, twice }, { contacts: ROWS, distinct: ROWS, twice: 0 });
});
