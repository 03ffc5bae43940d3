const assert = require('node:assert/strict');
const { execFile, execFileSync, spawn } = require('node:child_process');
const { once } = require('node:events');
const { createServer } = require('node:net');
const { it } = require('node:test');
const { promisify } = require('node:util');
const { startTestStack, waitFor } = require('notice-queue/testing');

const NOTICES = 'node_modules/.bin/notices';
const run = promisify(execFile);

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

it('a notice from Python is sent once, also when the ops server starts after it', async (test) => {
  const stack = await startTestStack({ redis: { url: process.env.REDIS_URL } });
  test.after(() => stack.stop());
  const printed = execFileSync(NOTICES, ['ops', 'new-key', 'shop'], { encoding: 'utf8' });
  const [, key, entry] = /(nq_\S+)[^]*(shop:sender:\S+)/.exec(printed);
  const address = `127.0.0.1:${await freePort()}`;
  const env = {
    ...process.env,
    REDIS_PREFIX: stack.prefix,
    OPS_ADDRESS: address,
    OPS_API_KEYS: entry,
    NOTICES_URL: `http://${address}`,
    NOTICES_KEY: key,
  };
  const send = async (...args) => {
    const { stdout } = await run('python3', ['send.py', ...args], { env });
    return JSON.parse(stdout);
  };
  const first = send('1001', '01012345678');
  const ops = spawn(NOTICES, ['ops'], { env, stdio: 'ignore' });
  test.after(() => ops.kill('SIGKILL'));
  const { id, duplicate } = await first;
  assert.equal(duplicate, false);
  assert.deepEqual(await send('1001', '01012345678'), { id, contacts: 1, duplicate: true });
  await assert.rejects(send('1002', 'none'), /422.*contact/);
  await waitFor(async () => (await stack.notices.get(id)).state === 'accepted');
  ops.kill('SIGTERM');
  assert.deepEqual(await once(ops, 'exit'), [0, null]);
  assert.equal(stack.emulator.record().contacts, 1);
});
