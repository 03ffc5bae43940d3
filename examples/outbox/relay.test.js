const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { readFileSync } = require('node:fs');
const { it } = require('node:test');
const { setTimeout: wait } = require('node:timers/promises');
const { Pool } = require('pg');
const { FakeNoticeQueue, startTestStack, waitFor } = require('notice-queue/testing');
const { relayOnce } = require('./relay.js');

const ROWS = 2000;
const PHONE = 1_000_000_000;

it('queues each committed row once, also when relays are killed; a poison row stops nothing', async (test) => {
  const pool = new Pool({ connectionString: process.env.DATABASE_URL });
  test.after(() => pool.end());
  const stack = await startTestStack({ redis: { url: process.env.REDIS_URL } });
  test.after(() => stack.stop());
  await pool.query('drop table if exists notice_outbox');
  await pool.query(readFileSync('schema.sql', 'utf8'));
  const insert = `insert into notice_outbox (notice) select jsonb_build_object('templateCode', 'T', 'contacts',
    jsonb_build_array(jsonb_build_object('contact', (${PHONE} + n)::text))) from generate_series(1, $1::int) n`;
  await pool.query(
    `insert into notice_outbox (notice) values ('{"templateCode": "T", "contacts": []}')`,
  );
  await pool.query(insert, [ROWS]);
  const client = await pool.connect();
  await client.query('begin');
  await client.query(insert, [7]);
  await client.query('rollback');
  client.release();

  const env = { ...process.env, REDIS_PREFIX: stack.prefix };
  const start = () => spawn(process.execPath, ['relay.js'], { env, stdio: 'inherit' });
  const left = async () => {
    const { rows } = await pool.query('select count(*)::int as n from notice_outbox');
    return rows[0].n;
  };
  for (let kills = 0; kills < 5; kills++) {
    const before = await left();
    const relays = [start(), start()];
    // At some moment after one of them has begun.
    await waitFor(async () => (await left()) < before, { everyMs: 1, timeoutMs: 20_000 });
    await wait(Math.random() * 20);
    for (const relay of relays) relay.kill('SIGKILL');
    await Promise.all(relays.map((relay) => once(relay, 'exit')));
  }
  assert.ok((await left()) > 1, 'the relays were killed on their way');
  const relay = start();
  await waitFor(async () => (await left()) === 1, { timeoutMs: 30_000 });
  relay.kill('SIGTERM');
  assert.deepEqual(await once(relay, 'exit'), [0, null]);

  const { rows } = await pool.query('select problem from notice_outbox');
  assert.match(rows[0].problem, /contacts: expected at least one contact/);
  await waitFor(() => stack.emulator.record().contacts >= ROWS, { timeoutMs: 30_000 });
  const { contacts, distinct, twice } = stack.emulator.record();
  assert.deepEqual({ contacts, distinct, twice }, { contacts: ROWS, distinct: ROWS, twice: 0 });
});

it('counts what ended, so that it waits while Redis refuses', async (test) => {
  const pool = new Pool({ connectionString: process.env.DATABASE_URL });
  test.after(() => pool.end());
  await pool.query('drop table if exists notice_outbox');
  await pool.query(readFileSync('schema.sql', 'utf8'));
  const notice = { templateCode: 'T', contacts: [{ contact: '01012345678' }] };
  await pool.query('insert into notice_outbox (notice) values ($1)', [notice]);
  const notices = new FakeNoticeQueue();
  notices.failNext('REDIS_FULL');
  assert.equal(await relayOnce(pool, notices), 0);
  assert.equal(await relayOnce(pool, notices), 1);
  assert.equal(notices.sent.length, 1);
});
