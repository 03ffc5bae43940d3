const { Client } = require('pg');
const Cursor = require('pg-cursor');
const { NoticeQueue } = require('notice-queue');

async function* dueOn(client, day) {
  const cursor = client.query(
    new Cursor('select phone, name, amount from invoice where due_on = $1 order by id', [day]),
  );
  for (;;) {
    const rows = await cursor.read(1000);
    if (rows.length === 0) return;
    for (const { phone, name, amount } of rows) yield { contact: phone, var1: name, var2: amount };
  }
}

async function main(day) {
  const client = new Client({ connectionString: process.env.DATABASE_URL });
  await client.connect();
  const notices = NoticeQueue.fromEnv();
  try {
    const { contacts, refused, alreadyImported } = await notices.import(dueOn(client, day), {
      templateCode: 'INVOICE_DUE',
      batchId: `due-${day}`,
    });
    console.log(JSON.stringify({ contacts, refused, alreadyImported }));
  } finally {
    await notices.close();
    await client.end();
  }
}

void main(process.argv[2] ?? new Date().toISOString().slice(0, 10));
