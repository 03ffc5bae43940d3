const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { it } = require('node:test');
const { FakeNoticeQueue, startTestStack, waitFor } = require('notice-queue/testing');
const { createApp } = require('./app.js');

const post = (port, order, body) =>
  fetch(`http://127.0.0.1:${port}/orders/${order}/shipped`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });

it('says what is wrong with the input, and when to come again', async (test) => {
  const notices = new FakeNoticeQueue();
  const server = createApp(notices).listen(0, '127.0.0.1');
  test.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address();
  const refused = await post(port, '1', { phone: 'none' });
  assert.equal(refused.status, 400);
  assert.match((await refused.json()).issues[0].field, /contact/);
  notices.failNext('QUEUE_UNAVAILABLE');
  assert.equal((await post(port, '1', { phone: '01012345678' })).status, 503);
  assert.equal((await post(port, '1', { phone: '01012345678' })).status, 202);
  assert.equal(notices.sent.length, 1);
});

it('sends from end to end, and stops on SIGTERM', async (test) => {
  const stack = await startTestStack({ redis: { url: process.env.REDIS_URL } });
  test.after(() => stack.stop());
  const env = { ...process.env, REDIS_PREFIX: stack.prefix, PORT: '0' };
  const server = spawn(process.execPath, ['server.js'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  test.after(() => server.kill('SIGKILL'));
  const [line] = await once(server.stdout, 'data');
  const port = String(line).trim().split(' ').at(-1);
  assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200);
  const { id } = await (await post(port, '1001', { phone: '01012345678' })).json();
  assert.deepEqual(await (await post(port, '1001', { phone: '01012345678' })).json(), {
    id,
    duplicate: true,
  });
  await waitFor(async () => (await stack.notices.get(id)).state === 'accepted');
  server.kill('SIGTERM');
  assert.deepEqual(await once(server, 'exit'), [0, null]);
  assert.equal(stack.emulator.record().contacts, 1);
});
