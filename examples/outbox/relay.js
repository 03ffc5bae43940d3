const { setTimeout: wait } = require('node:timers/promises');
const { Pool } = require('pg');
const { NoticeQueue } = require('notice-queue');

// The keys begin with it: each database of an account needs its own. Not to be changed while rows wait.
const OUTBOX_NAME = 'outbox';

/** Queues the oldest rows, and deletes them in the same transaction that has locked them. Returns how many have ended. */
async function relayOnce(pool, notices) {
  const client = await pool.connect();
  let failed = true;
  try {
    await client.query('begin');
    const { rows } = await client.query(
      `select id, notice from notice_outbox where problem is null
       order by id limit 100 for update skip locked`,
    );
    // A relay that dies before its commit reads these rows again: the key makes the repeated call a duplicate.
    const sends = rows.map(({ id, notice }) =>
      notices.send(notice, { idempotencyKey: `${OUTBOX_NAME}-${id}` }),
    );
    let ended = 0;
    let first;
    for (const [index, send] of (await Promise.allSettled(sends)).entries()) {
      const { id } = rows[index];
      if (send.status === 'fulfilled') {
        await client.query('delete from notice_outbox where id = $1', [id]);
        ended++;
      } else if (send.reason.retryable !== true) {
        const { message } = send.reason;
        await client.query('update notice_outbox set problem = $2 where id = $1', [id, message]);
        ended++;
      } else first ??= send.reason;
    }
    await client.query('commit');
    failed = false;
    if (first !== undefined) console.error(first.code, first.message);
    return ended;
  } finally {
    // A connection that is closed ends its transaction.
    client.release(failed);
  }
}

async function main() {
  const pool = new Pool({ connectionString: process.env.DATABASE_URL });
  pool.on('error', () => {});
  const notices = NoticeQueue.fromEnv();
  let stopped = false;
  process.once('SIGTERM', () => (stopped = true));
  while (!stopped) {
    const ended = await relayOnce(pool, notices).catch((error) => {
      console.error(error.code, error.message);
      return 0;
    });
    if (ended === 0) await wait(200);
  }
  await notices.close();
  await pool.end();
}

if (require.main === module) void main();

module.exports = { relayOnce };
