import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readUsers } from '../../../src/ops/web/access/accounts.ts';
import { testRedis } from '../../support/redis.ts';
import { startProcess } from '../support/process.ts';
import { errorOf, run, STACK } from '../support/run.ts';

const redis = testRedis();

const freshEnv = () => ({
  REDIS_URL: redis.url,
  REDIS_PREFIX: redis.freshPrefix(),
  OPS_ADDRESS: '0',
});

describe('notices ops', () => {
  it('serves until it is told to stop, and prints how to sign in for the person who started it', async () => {
    const ops = startProcess(['ops'], freshEnv());
    const [, url = ''] = await ops.says(/^ops at (http:\/\/127\.0\.0\.1:\d+)$/m);
    const [, password = ''] = await ops.says(/as "operator" with the password (\S+)/);
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    expect((await fetch(`${url}/api/v1/status`)).status).toBe(401);

    const body = new URLSearchParams({ name: 'operator', password });
    const signedIn = await fetch(`${url}/sign-in`, { method: 'POST', body, redirect: 'manual' });
    expect(signedIn.status).toBe(303);
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
    const page = await fetch(url, { headers: { cookie, accept: 'text/html' } });
    expect([page.status, page.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ]);
    expect(await page.text()).toContain('operator (operator)');

    ops.stop('SIGTERM');
    const { code, stderr } = await ops.ended;
    expect(code).toBe(0);
    // The log is on standard error, and no place for what lets people in.
    expect(stderr).toContain('"event":"ops-signed-in"');
    expect(stderr).not.toContain(password);
  });

  it('is not stopped by variables that it does not use, as no command is', async () => {
    const unused = { ATTEMPTS: 'x', HEALTH_ADDRESS: 'abc', SEND_WINDOWS: 'garbage' };
    const env = { ...freshEnv(), ...unused };
    await startProcess(['ops'], env).says(/^ops at /m);
    const others = { OPS_ADDRESS: '[::]:1', OPS_USERS: 'kim', BASE_URL: 'wrong', STATE_FILE: '' };
    for (const line of ['audit', 'status', 'batches', 'suppress check 01000000001']) {
      const { stdout, stderr } = await run(line, { ...env, ...others });
      expect([line, stderr, stdout === '']).toEqual([line, '', false]);
    }
    for (const [line, name] of [
      ['ops', 'OPS_USERS'],
      ['worker', 'ATTEMPTS'],
      ['doctor', 'HEALTH_ADDRESS'],
    ] as const) {
      const ended = await run(line, { ...env, ...others });
      expect([line, ended.code]).toEqual([line, 2]);
      expect(ended.stdout + ended.stderr).toContain(name);
    }
  });

  it('refuses to listen where others can connect and nobody says who may come in', async () => {
    for (const args of [
      ['ops', '--host', '0.0.0.0'],
      ['ops', '--host', '::'],
      ['ops', '--host', '10.0.0.1'],
    ]) {
      const ended = await run([...args, '--json'], freshEnv());
      expect(ended.code).toBe(2);
      expect(errorOf(ended)).toMatchObject({
        code: 'CONFIG_INVALID',
        issues: [{ field: 'OPS_ADDRESS' }],
      });
      expect(ended.stderr).not.toMatch(STACK);
    }
  });

  it('says what is wrong with a port', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const ended = await run(`ops --port ${port}`, freshEnv());
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain('OPS_ADDRESS: another program listens there already');
    expect(ended.stderr).not.toMatch(STACK);
  });

  it('makes entries of users; refuses passwords that are too short, and wrong names', async () => {
    const password = 'a password of 25 letters!';
    const made = await run('ops hash-password kim --role operator', {}, `${password}\n`);
    expect(made.stdout).toMatch(/^kim:operator:scrypt\.\S+\n$/);
    const [user] = readUsers(made.stdout).values();
    expect(user).toMatchObject({ name: 'kim', role: 'operator' });
    expect(made.stdout).not.toContain(password);
    const short = await run(['ops', 'hash-password', 'kim', '--json'], {}, 'short\n');
    expect([short.code, errorOf(short).code]).toEqual([2, 'USAGE']);
    expect(short.stderr).not.toContain('"short"');
    expect((await run(['ops', 'hash-password', 'two words'], {}, 'x')).code).toBe(2);
    expect((await run(['ops', 'new-key', 'a:b'])).code).toBe(2);
  });

  it('makes API keys that expire, on a day to come', async () => {
    const made = await run(['ops', 'new-key', 'shop', '--expires', '2999-12-31', '--json']);
    expect(JSON.parse(made.stdout)).toMatchObject({
      entry: expect.stringMatching(/^shop:sender:sha256\.[\w-]{43}:2999-12-31$/) as unknown,
    });
    for (const day of ['2020-01-01', '2999-02-30', 'tomorrow']) {
      const { code, stderr } = await run(['ops', 'new-key', 'shop', '--expires', day]);
      expect([code, stderr]).toEqual([2, expect.stringMatching(/--expires: expected a day/)]);
    }
  });
});
