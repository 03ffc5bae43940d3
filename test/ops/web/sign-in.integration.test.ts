import { describe, expect, it } from 'vitest';
import { beginSession, endSessions, isSessionOver } from '../../../src/ops/operations/sessions.ts';
import { testRedis } from '../../support/redis.ts';
import { PASSWORD, startOps, type OpsBench, type Reply } from './support/ops-bench.ts';

const redis = testRedis();

const start = (env: Record<string, string> = {}) => startOps(redis.url, redis.freshPrefix(), env);
const behindProxy = () => start({ OPS_TRUSTED_PROXY: '127.0.0.1' });

function signIn(
  bench: OpsBench,
  name: string,
  password: string,
  headers: Record<string, string> = {},
) {
  const body = new URLSearchParams({ name, password, next: '/batches' }).toString();
  return bench.ask('/sign-in', { method: 'POST', body, headers });
}

const cookieOf = ({ headers }: Reply) => headers['set-cookie']?.[0] ?? '';
const sentBack = (reply: Reply) => cookieOf(reply).split(';')[0] ?? '';
const statusWith = async (bench: OpsBench, cookie: string) =>
  (await bench.nobody.get('/api/v1/session', { cookie })).status;

describe('signing in', () => {
  it('leads to where the visitor went, with a cookie that no script and no other site gets', async () => {
    const bench = await start();
    const reply = await signIn(bench, 'vera', PASSWORD);
    expect(reply).toMatchObject({ status: 303, headers: { location: '/batches' } });
    expect(cookieOf(reply)).toMatch(
      /^notices=[^;]+; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Strict$/,
    );
    const session = await bench.nobody.get('/api/v1/session', { cookie: sentBack(reply) });
    expect(session.json).toMatchObject({ name: 'vera', role: 'viewer', by: 'session' });
  });

  it('over https counts for https only, whether a proxy or the browser states it', async () => {
    for (const [bench, headers] of [
      [await start(), (url: string) => ({ origin: url.replace('http:', 'https:') })],
      [
        await behindProxy(),
        () => ({
          'x-forwarded-proto': 'https',
          'x-forwarded-host': 'ops.example.test',
          origin: 'https://ops.example.test',
        }),
      ],
    ] as const) {
      const reply = await signIn(bench, 'otto', PASSWORD, headers(bench.url));
      expect(cookieOf(reply)).toMatch(
        /^__Host-notices=[^;]+; Path=\/; Expires=[^;]+; HttpOnly; Secure; SameSite=Strict$/,
      );
      const page = await bench.nobody.get('/batches', { cookie: sentBack(reply) });
      expect(page.status).toBe(200);
      expect(page.headers['strict-transport-security']).toBe('max-age=31536000');
      expect(bench.lines.filter(({ event }) => event === 'ops-session-without-https')).toEqual([]);
    }
    const bench = await behindProxy();
    // A proxy that forwards only the host.
    const plain = await signIn(bench, 'otto', PASSWORD, { 'x-forwarded-host': 'ops.example.test' });
    expect(cookieOf(plain)).toMatch(/^notices=/);
    expect(bench.lines).toContainEqual(
      expect.objectContaining({ level: 40, lacks: 'X-Forwarded-Proto' }),
    );
    const other = { 'x-forwarded-host': 'ops.example.test', origin: 'https://evil.example.test' };
    expect((await signIn(bench, 'otto', PASSWORD, other)).status).toBe(403);
  });

  it('says the same of a wrong name and of a wrong password, and sets no cookie', async () => {
    const bench = await start();
    const wrong = await signIn(bench, 'vera', 'a wrong password');
    const unknown = await signIn(bench, 'nobody', PASSWORD);
    expect([wrong.status, cookieOf(wrong), cookieOf(unknown)]).toEqual([401, '', '']);
    expect(wrong.text).toContain('Name or password is wrong.');
    expect(unknown.text).toBe(wrong.text);
  });

  it('is refused after ten tries in a minute, also with the right password and other words of its address', async () => {
    const bench = await start({ OPS_TRUSTED_PROXY: '192.0.2.7' });
    for (let tried = 0; tried < 10; tried++) {
      const from = { 'x-forwarded-for': `192.0.2.${tried}` };
      expect((await signIn(bench, 'vera', `wrong ${tried}`, from)).status).toBe(401);
    }
    const reply = await signIn(bench, 'vera', PASSWORD);
    expect(reply).toMatchObject({ status: 429, json: { code: 'TOO_MANY_REQUESTS' } });
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
    expect(Number(reply.headers['retry-after'])).toBeLessThanOrEqual(60);
    // Who is in already stays in.
    expect((await (await bench.viewer()).get('/api/v1/session')).status).toBe(200);
  });
});

describe('a session', () => {
  it('is over when its user signs in anew, when an operator ends it, and when it was not used', async () => {
    const bench = await start();
    const { sessions } = bench.context.keys;
    const enter = async () => sentBack(await signIn(bench, 'vera', PASSWORD));
    const [first, second] = [await enter(), await enter()];
    expect([await statusWith(bench, first), await statusWith(bench, second)]).toEqual([401, 200]);
    const operator = bench.key('operator');
    const listed = async () => (await operator.get('/api/v1/sessions')).json['sessions'];
    expect(await listed()).toMatchObject([{ user: 'vera', network: '127.0.0.1' }]);
    await operator.post('/api/v1/sessions/end', { user: 'vera', why: 'a lost phone' });
    expect([await statusWith(bench, second), await listed()]).toEqual([401, []]);
    const third = await enter();
    const stored = JSON.parse((await redis.client.hget(sessions, 'vera')) ?? '') as object;
    const idle = { ...stored, seenAt: Date.now() - 3 * 3_600_000 };
    await redis.client.hset(sessions, 'vera', JSON.stringify(idle));
    expect(await statusWith(bench, third)).toBe(401);
  });

  it('is not used by a page that is only open: its refreshes and the polls of the board', async () => {
    const bench = await start();
    const { sessions } = bench.context.keys;
    const cookie = sentBack(await signIn(bench, 'vera', PASSWORD));
    const read = async () =>
      JSON.parse((await redis.client.hget(sessions, 'vera')) ?? '') as { seenAt: number };
    const seenAt = Date.now() - 600_000;
    await redis.client.hset(sessions, 'vera', JSON.stringify({ ...(await read()), seenAt }));
    const refresh = { cookie, 'x-refresh': '1' };
    expect((await bench.nobody.get('/', refresh)).status).toBe(200);
    expect((await bench.nobody.get('/queues/api/queues', { cookie })).status).toBe(200);
    await bench.nobody.get('/readyz', { cookie });
    expect((await read()).seenAt).toBe(seenAt);
    expect((await bench.nobody.get('/batches', { cookie })).status).toBe(200);
    expect((await read()).seenAt).toBeGreaterThan(seenAt);
  });

  it('that is ended while a request uses it stays ended', async () => {
    const { keys } = (await start()).context;
    const now = Date.now();
    const claimed = { user: 'vera', id: 'one', since: now - 600_000, until: now + 600_000 };
    await beginSession(redis.client, keys, claimed, '127.0.0.1');
    // On one connection the end comes after what the request has read, and before what it writes.
    await Promise.all([
      isSessionOver(redis.client, keys, claimed, now, '127.0.0.1'),
      endSessions(redis.client, keys, claimed.user, now),
    ]);
    expect(await isSessionOver(redis.client, keys, claimed, now, '127.0.0.1')).toBe(true);
  });

  it('that could not be stored at the sign-in is stored when it is used', async () => {
    const bench = await start();
    await bench.viewer();
    const { json } = await bench.key('operator').get('/api/v1/sessions');
    expect(json['sessions']).toMatchObject([{ user: 'vera', network: '127.0.0.1' }]);
  });
});

describe('a proxy that signs people in', () => {
  const env = {
    OPS_TRUSTED_PROXY: '127.0.0.1, 10.0.0.0/8',
    OPS_USER_HEADER: 'X-User',
    OPS_ROLE_HEADER: 'X-Groups',
    OPS_USERS: '',
  };
  const otto = { 'x-user': 'otto', 'x-groups': 'staff, operator' };

  it('is believed, and its people act under their names', async () => {
    const bench = await start(env);
    const { json } = await bench.nobody.get('/api/v1/session', otto);
    expect(json).toMatchObject({ name: 'otto', role: 'operator', by: 'proxy' });
    const token = { 'x-csrf-token': String(json['csrf']) };
    const act = async (headers: Record<string, string>) =>
      (await bench.nobody.post('/api/v1/hold/place', { why: 'review' }, headers)).status;
    const strange = { ...token, 'x-user': 'otto2', 'x-groups': 'operator' };
    expect([await act({ ...otto, ...token }), await act(strange), await act(otto)]).toEqual([
      200, 403, 403,
    ]);
    const audit = await bench.nobody.get('/api/v1/audit', otto);
    expect(audit.json).toMatchObject({ entries: [{ who: 'otto', what: 'hold', why: 'review' }] });
    // People sign in there, and no operator is made for this machine.
    expect([bench.firstSignIn, (await signIn(bench, 'operator', 'any')).status]).toEqual([
      undefined,
      401,
    ]);
  });

  it('the same words from any other address are nobody', async () => {
    const bench = await start(env);
    const statusOf = async (headers: Record<string, string>, from?: string) =>
      (await bench.ask('/api/v1/session', { headers, ...(from === undefined ? {} : { from }) }))
        .status;
    expect(await statusOf(otto, '127.0.0.2')).toBe(401);
    expect(await statusOf({ ...otto, 'x-forwarded-for': '127.0.0.1' }, '127.0.0.2')).toBe(401);
    // A proxy may pass on how the visitor came to it; a key that is wrong is nobody all the same.
    expect(await statusOf({ ...otto, authorization: 'Basic b3R0bzp4' })).toBe(200);
    expect(await statusOf({ ...otto, authorization: 'Bearer made-up' })).toBe(401);
  });
});

describe('a start without users on this machine', () => {
  it('creates an operator, whose password is in no log', async () => {
    const bench = await start({ OPS_USERS: '', OPS_API_KEYS: '' });
    const { user = '', password = '' } = bench.firstSignIn ?? {};
    expect((await signIn(bench, user, `${password}x`)).status).toBe(401);
    const cookie = sentBack(await signIn(bench, user, password));
    const session = await bench.nobody.get('/api/v1/session', { cookie });
    expect(session.json).toMatchObject({ name: user, role: 'operator' });
    expect(JSON.stringify(bench.lines)).not.toContain(password);
  });

  it('where others can connect, nobody is created', async () => {
    const bench = await start({ OPS_ADDRESS: '0.0.0.0:0', OPS_USERS: '' });
    expect(bench.firstSignIn).toBeUndefined();
  });
});
