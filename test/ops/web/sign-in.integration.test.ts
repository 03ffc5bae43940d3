import { describe, expect, it } from 'vitest';
import {
  beginSession,
  endSessions,
  endUserSession,
  isSessionOver,
} from '../../../src/ops/operations/sessions.ts';
import { testRedis } from '../../support/redis.ts';
import { PASSWORD, startOps, type OpsBench, type Reply } from './support/ops-bench.ts';

const redis = testRedis();

const start = (env: Record<string, string> = {}) => startOps(redis.url, redis.freshPrefix(), env);
const behindProxy = () => start({ OPS_TRUSTED_PROXY: '127.0.0.1' });

const FORM = { name: 'vera', password: PASSWORD, next: '/batches' };

function signIn(
  bench: OpsBench,
  fields: Record<string, string> = {},
  headers: Record<string, string> = {},
) {
  const body = new URLSearchParams({ ...FORM, ...fields }).toString();
  return bench.ask('/sign-in', { method: 'POST', body, headers });
}

const cookieOf = ({ headers }: Reply) => headers['set-cookie']?.[0] ?? '';
const sentBack = (reply: Reply) => cookieOf(reply).split(';')[0] ?? '';
const statusWith = async (bench: OpsBench, cookie: string) =>
  (await bench.nobody.get('/api/v1/session', { cookie })).status;

describe('signing in', () => {
  it('leads to where the visitor went, with a cookie that no script and no other site gets', async () => {
    const bench = await start();
    const reply = await signIn(bench);
    expect(reply).toMatchObject({ status: 303, headers: { location: '/batches' } });
    expect(cookieOf(reply)).toMatch(
      /^notices=[^;]+; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Strict$/,
    );
    const session = await bench.nobody.get('/api/v1/session', { cookie: sentBack(reply) });
    expect(session.json).toMatchObject({ name: 'vera', role: 'viewer', by: 'session' });
    // In a second tab, too, but not for another site.
    const again = (site: string) =>
      signIn(bench, {}, { cookie: sentBack(reply), 'sec-fetch-site': site });
    expect([(await again('same-origin')).status, (await again('cross-site')).status]).toEqual([
      303, 403,
    ]);
    for (const next of ['/.//evil.example.test', '/a/../..//evil', '/\\evil', '/\t/evil']) {
      expect([next, (await signIn(bench, { next })).headers.location]).toEqual([next, '/']);
    }
  });

  it('over https counts for https only, whether a proxy or the browser states it', async () => {
    const otto = { name: 'otto' };
    const host = { 'x-forwarded-host': 'ops.example.test' };
    for (const [bench, headers] of [
      [await start(), (url: string) => ({ origin: url.replace('http:', 'https:') })],
      [
        await behindProxy(),
        () => ({ ...host, 'x-forwarded-proto': 'https', origin: 'https://ops.example.test' }),
      ],
    ] as const) {
      const reply = await signIn(bench, otto, headers(bench.url));
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
    expect(cookieOf(await signIn(bench, otto, host))).toMatch(/^notices=/);
    expect(bench.lines).toContainEqual(
      expect.objectContaining({ level: 40, lacks: 'X-Forwarded-Proto' }),
    );
    const other = { ...host, origin: 'https://evil.example.test' };
    expect((await signIn(bench, otto, other)).status).toBe(403);
    // What the browser uses is first in the chain of proxies.
    for (const [proto, isSecure] of [
      ['https,http', true],
      ['http', false],
    ] as const) {
      const { headers } = await bench.nobody.get('/sign-in', { 'x-forwarded-proto': proto });
      expect(headers['strict-transport-security'] !== undefined).toBe(isSecure);
    }
  });

  it('that failed says the same of a wrong name and password, and is in the log with its address', async () => {
    const bench = await behindProxy();
    const from = { 'x-forwarded-for': '192.0.2.77' };
    const wrong = await signIn(bench, { password: 'a wrong password' }, from);
    const unknown = await signIn(bench, { name: 'no one' }, from);
    expect([wrong.status, cookieOf(wrong), cookieOf(unknown)]).toEqual([401, '', '']);
    expect(wrong.text).toContain('Name or password is wrong.');
    expect(unknown.text).toBe(wrong.text);
    const failed = bench.lines.filter(({ event }) => event === 'ops-sign-in-failed');
    expect(failed).toMatchObject([{ address: '192.0.2.77' }, { address: '192.0.2.77' }]);
    expect(JSON.stringify(bench.lines)).not.toMatch(/no one|a wrong password/);
  });

  it.each([
    ['whatever address it states', '192.0.2.7', (index: number) => `192.0.2.${index}`],
    [
      'from all addresses of an IPv6 network',
      '127.0.0.1',
      (index: number) => `2001:db8:1:2:${index}::${index}`,
    ],
  ])('is refused after ten tries in a minute, %s', async (_, proxy, address) => {
    const bench = await start({ OPS_TRUSTED_PROXY: proxy });
    const from = (index: number) => ({ 'x-forwarded-for': address(index) });
    // Pages are counted apart.
    for (let index = 0; index < 11; index += 1) await bench.nobody.get('/sign-in', from(0));
    for (let index = 0; index < 10; index += 1) {
      const { status } = await signIn(bench, { password: `wrong ${index}` }, from(index));
      expect(status).toBe(401);
    }
    const reply = await signIn(bench, {}, from(10));
    expect(reply).toMatchObject({ status: 429, json: { code: 'TOO_MANY_REQUESTS' } });
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
    expect(Number(reply.headers['retry-after'])).toBeLessThanOrEqual(60);
    // Who is in already stays in.
    expect((await (await bench.viewer()).get('/api/v1/session')).status).toBe(200);
    const elsewhere = await signIn(bench, {}, { 'x-forwarded-for': '2001:db8:1:3::1' });
    expect(elsewhere.status).toBe(proxy === '127.0.0.1' ? 303 : 429);
  });
});

describe('a session', () => {
  it('is over when its user signs in anew, when an operator ends it, and when it was not used', async () => {
    const bench = await start();
    const { sessions } = bench.context.keys;
    const enter = async () => sentBack(await signIn(bench));
    const [first, second] = [await enter(), await enter()];
    expect([await statusWith(bench, first), await statusWith(bench, second)]).toEqual([401, 200]);
    const operator = bench.key('operator');
    const listed = async () => (await operator.get('/api/v1/sessions')).json['sessions'];
    expect(await listed()).toMatchObject([{ user: 'vera', network: '127.0.0.1' }]);
    const ended = await operator.post(
      '/api/v1/sessions/end',
      'user=vera&why=a+lost+phone&_next=/audit',
    );
    expect([ended.headers.location, cookieOf(ended)]).toEqual([
      '/audit',
      expect.stringMatching(/^notices-said=vera%20has%20to%20sign%20in%20anew\.;/),
    ]);
    expect([await statusWith(bench, second), await listed()]).toEqual([401, []]);
    const end = async (user: string) =>
      (await operator.post('/api/v1/sessions/end', { user, why: 'a lost phone' })).json;
    expect(await end('vera')).toEqual({ user: 'vera', known: false });
    const third = await enter();
    const stored = JSON.parse((await redis.client.hget(sessions, 'vera')) ?? '') as object;
    const idle = { ...stored, seenAt: Date.now() - 3 * 3_600_000 };
    await redis.client.hset(sessions, 'vera', JSON.stringify(idle));
    expect(await statusWith(bench, third)).toBe(401);
    const fourth = await enter();
    expect([await end('vera'), await end('vear')]).toEqual([
      { user: 'vera', known: true },
      { user: 'vear', known: false },
    ]);
    expect(await statusWith(bench, fourth)).toBe(401);
    const said = endUserSession.text?.({ user: 'vear', known: false }, 0, { user: 'vear' });
    expect(said).toEqual(['No session of vear is known; one that exists is ended.']);
  });

  it('whose record cannot be read is over until its user signs in anew', async () => {
    const bench = await start();
    const { sessions } = bench.context.keys;
    const cookie = sentBack(await signIn(bench));
    for (const text of ['{', '{}', '']) {
      await redis.client.hset(sessions, 'vera', text);
      expect([text, await statusWith(bench, cookie)]).toEqual([text, 401]);
    }
    expect(await statusWith(bench, sentBack(await signIn(bench)))).toBe(200);
  });

  it('is not used by a page that is only open: its refreshes and the polls of the board', async () => {
    const bench = await start();
    const { sessions } = bench.context.keys;
    const cookie = sentBack(await signIn(bench));
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

  it('that was ended stays ended after a restart and at other servers', async () => {
    const prefix = redis.freshPrefix();
    const env = { OPS_SESSION_KEY: 'k'.repeat(32) };
    const [first, other] = [
      await startOps(redis.url, prefix, env),
      await startOps(redis.url, prefix, env),
    ];
    const { cookie = '', 'x-csrf-token': token = '' } = (await first.viewer()).headers;
    expect(await statusWith(other, cookie)).toBe(200);
    const body = `_csrf=${token}`;
    const out = await first.ask('/sign-out', { method: 'POST', headers: { cookie }, body });
    expect(out).toMatchObject({ status: 303, headers: { location: '/sign-in' } });
    expect(out.headers['set-cookie']?.[0]).toMatch(/^notices=;/);
    expect(await statusWith(other, cookie)).toBe(401);
    await first.close();
    const restarted = await startOps(redis.url, prefix, env);
    expect(await statusWith(restarted, cookie)).toBe(401);
  });

  it('that could not be stored at the sign-in is stored when it is used', async () => {
    const bench = await start();
    await bench.viewer();
    await redis.client.hset(bench.context.keys.sessions, 'otto', '{');
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
    expect([bench.firstSignIn, (await signIn(bench, { name: 'operator' })).status]).toEqual([
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
    expect((await signIn(bench, { name: user, password: `${password}x` })).status).toBe(401);
    const cookie = sentBack(await signIn(bench, { name: user, password }));
    const session = await bench.nobody.get('/api/v1/session', { cookie });
    expect(session.json).toMatchObject({ name: user, role: 'operator' });
    expect(JSON.stringify(bench.lines)).not.toContain(password);
  });

  it('where others can connect, nobody is created', async () => {
    const bench = await start({ OPS_ADDRESS: '0.0.0.0:0', OPS_USERS: '' });
    expect(bench.firstSignIn).toBeUndefined();
  });
});
