import { describe, expect, it } from 'vitest';
import { beginSession, endSessions, isSessionOver } from '../../../src/ops/operations/sessions.ts';
import { testRedis } from '../../support/redis.ts';
import { PASSWORD, startOps, type OpsBench, type Reply } from './support/ops-bench.ts';

const redis = testRedis();

const NO_USERS = { OPS_USERS: '', OPS_API_KEYS: '' };

function form(fields: Readonly<Record<string, string>>): string {
  return new URLSearchParams(fields).toString();
}

function signIn(
  bench: OpsBench,
  name: string,
  password: string,
  more: Record<string, string> = {},
) {
  const body = form({ name, password, next: '/batches' });
  return bench.ask('/sign-in', { method: 'POST', body, headers: more });
}

const cookieOf = ({ headers }: Reply) => headers['set-cookie']?.[0] ?? '';

describe('signing in', () => {
  it('leads to where the visitor went, with a cookie that no script and no other site gets', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const reply = await signIn(bench, 'vera', PASSWORD);
    expect(reply).toMatchObject({ status: 303, headers: { location: '/batches' } });
    const cookie = cookieOf(reply);
    expect(cookie).toMatch(/^notices=[^;]+; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Strict$/);
    const session = await bench.nobody.get('/api/v1/session', {
      cookie: cookie.split(';')[0] ?? '',
    });
    expect(session.json).toMatchObject({ name: 'vera', role: 'viewer', by: 'session' });
  });

  it('over https counts for https only, also where no proxy is trusted', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const origin = bench.url.replace('http:', 'https:');
    const reply = await signIn(bench, 'vera', PASSWORD, { origin });
    expect(cookieOf(reply)).toMatch(/^__Host-notices=[^;]+; Path=\/; .*Secure/);
    const cookie = cookieOf(reply).split(';')[0] ?? '';
    const page = await bench.nobody.get('/batches', { cookie });
    expect(page.status).toBe(200);
    expect(page.headers['strict-transport-security']).toContain('max-age=');
  });

  it('says the same of a wrong name and of a wrong password, and sets no cookie', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const replies = [
      await signIn(bench, 'vera', 'a wrong password'),
      await signIn(bench, 'nobody', PASSWORD),
    ];
    for (const reply of replies) {
      expect([reply.status, cookieOf(reply)]).toEqual([401, '']);
      expect(reply.text).toContain('Name or password is wrong.');
    }
    expect(replies[0]?.text).toBe(replies[1]?.text);
  });

  it('is refused after ten tries in a minute, also with the right password', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    for (let tried = 0; tried < 10; tried++) {
      expect((await signIn(bench, 'vera', `wrong ${tried}`)).status).toBe(401);
    }
    const reply = await signIn(bench, 'vera', PASSWORD);
    expect(reply).toMatchObject({ status: 429, json: { code: 'TOO_MANY_REQUESTS' } });
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
    expect(Number(reply.headers['retry-after'])).toBeLessThanOrEqual(60);
    // Who is in already stays in.
    const viewer = await bench.viewer();
    expect((await viewer.get('/api/v1/session')).status).toBe(200);
  });

  it('never leads to another site', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const body = form({ name: 'vera', password: PASSWORD, next: '//evil.example.test/' });
    const reply = await bench.ask('/sign-in', { method: 'POST', body });
    expect(reply.headers.location).toBe('/');
  });
});

describe('a session', () => {
  it('is over when its time is', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix(), { OPS_SESSION_MS: '600000' });
    const now = Date.now();
    const [young, old] = [bench.cookie('vera', now - 300_000), bench.cookie('vera', now - 600_001)];
    expect((await bench.nobody.get('/api/v1/session', { cookie: young })).status).toBe(200);
    expect((await bench.nobody.get('/api/v1/session', { cookie: old })).status).toBe(401);
  });

  it('is over at the sign-out, which takes the cookie away', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const viewer = await bench.viewer();
    const { cookie = '', 'x-csrf-token': token = '' } = viewer.headers;
    const reply = await bench.ask('/sign-out', {
      method: 'POST',
      headers: { cookie },
      body: form({ _csrf: token }),
    });
    expect(reply).toMatchObject({ status: 303, headers: { location: '/sign-in' } });
    expect(cookieOf(reply)).toMatch(/^notices=;/);
    expect((await viewer.get('/api/v1/session')).status).toBe(401);
  });

  it('is over when its user signs in anew, when an operator ends it, and when it was not used', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const { keys } = bench.context;
    const cookieAfter = async () => cookieOf(await signIn(bench, 'vera', PASSWORD)).split(';')[0];
    const statusOf = async (cookie = '') =>
      (await bench.nobody.get('/api/v1/session', { cookie })).status;
    const first = await cookieAfter();
    const second = await cookieAfter();
    expect([await statusOf(first), await statusOf(second)]).toEqual([401, 200]);
    const operator = bench.key('operator');
    const { json } = await operator.get('/api/v1/sessions');
    expect(json['sessions']).toMatchObject([{ user: 'vera', network: '127.0.0.1' }]);
    await operator.post('/api/v1/sessions/end', { user: 'vera', why: 'a lost phone' });
    expect(await statusOf(second)).toBe(401);
    expect((await operator.get('/api/v1/sessions')).json['sessions']).toEqual([]);
    const third = await cookieAfter();
    const stored = JSON.parse((await redis.client.hget(keys.sessions, 'vera')) ?? '') as object;
    const idle = { ...stored, seenAt: Date.now() - 3 * 3_600_000 };
    await redis.client.hset(keys.sessions, 'vera', JSON.stringify(idle));
    expect(await statusOf(third)).toBe(401);
  });

  it('is not used by a page that is only open: its refreshes and the polls of the board', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const { sessions } = bench.context.keys;
    const cookie = cookieOf(await signIn(bench, 'vera', PASSWORD)).split(';')[0] ?? '';
    const read = async () =>
      JSON.parse((await redis.client.hget(sessions, 'vera')) ?? '') as { seenAt: number };
    const seenBefore = async (minutes: number) => {
      const seenAt = Date.now() - minutes * 60_000;
      await redis.client.hset(sessions, 'vera', JSON.stringify({ ...(await read()), seenAt }));
      return seenAt;
    };
    const seenAt = await seenBefore(10);
    const refresh = { cookie, 'x-refresh': '1' };
    expect((await bench.nobody.get('/', refresh)).status).toBe(200);
    expect((await bench.nobody.get('/api/v1/session', refresh)).status).toBe(200);
    expect((await bench.nobody.get('/queues/api/queues', { cookie })).status).toBe(200);
    await bench.nobody.get('/readyz', { cookie });
    expect((await read()).seenAt).toBe(seenAt);
    expect((await bench.nobody.get('/batches', { cookie })).status).toBe(200);
    expect((await read()).seenAt).toBeGreaterThan(seenAt);
  });

  it('that is ended while a request uses it stays ended', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const { keys } = bench.context;
    const now = Date.now();
    const claimed = { user: 'vera', id: 'one', since: now - 600_000, until: now + 600_000 };
    const { user, ...session } = { ...claimed, seenAt: now - 300_000, network: '127.0.0.1' };
    await beginSession(redis.client, keys, user, session);
    // On one connection the end comes after what the request has read, and before what it writes.
    await Promise.all([
      isSessionOver(redis.client, keys, claimed, now, '127.0.0.1'),
      endSessions(redis.client, keys, user, now),
    ]);
    expect(await isSessionOver(redis.client, keys, claimed, now, '127.0.0.1')).toBe(true);
  });

  it('that could not be stored at the sign-in is stored when it is used', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    const viewer = await bench.viewer();
    const { json } = await bench.key('operator').get('/api/v1/sessions');
    expect(json['sessions']).toMatchObject([{ user: 'vera', network: '127.0.0.1' }]);
    const { sessions } = bench.context.keys;
    const stored = JSON.parse((await redis.client.hget(sessions, 'vera')) ?? '') as object;
    const idle = { ...stored, seenAt: Date.now() - 3 * 3_600_000 };
    await redis.client.hset(sessions, 'vera', JSON.stringify(idle));
    expect((await viewer.get('/api/v1/session')).status).toBe(401);
  });

  it('goes on after a restart where a key is configured, and ends where none is', async () => {
    const prefix = redis.freshPrefix();
    for (const [env, status] of [
      [{ OPS_SESSION_KEY: 'k'.repeat(32) }, 200],
      [{ OPS_SESSION_KEY: '' }, 401],
    ] as const) {
      const first = await startOps(redis.url, prefix, env);
      const cookie = first.cookie('vera', Date.now());
      await first.close();
      const second = await startOps(redis.url, prefix, env);
      expect((await second.nobody.get('/api/v1/session', { cookie })).status).toBe(status);
    }
  });
});

it('the name of the environment is on pages of errors, too, and not for visitors', async () => {
  const env = { OPS_NAME: 'staging <7>' };
  const bench = await startOps(redis.url, redis.freshPrefix(), env);
  const accept = { accept: 'text/html' };
  const viewer = await bench.viewer();
  for (const [path, status] of [
    ['/batches', 200],
    ['/batches/none', 404],
  ] as const) {
    const page = await viewer.get(path, accept);
    expect(page.status).toBe(status);
    expect(page.text).toMatch(/<p class="place">\s*<strong>staging &lt;7&gt;<\/strong> default/);
  }
  expect((await bench.nobody.get('/batches', accept)).text).not.toContain('staging');
});

describe('behind a proxy with TLS', () => {
  const https = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'ops.example.test' };

  it('the cookie is for https only, and no form from another host counts', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix(), {
      OPS_TRUSTED_PROXY: '127.0.0.1',
    });
    const reply = await signIn(bench, 'otto', PASSWORD, {
      ...https,
      origin: 'https://ops.example.test',
    });
    expect(reply.status).toBe(303);
    expect(cookieOf(reply)).toMatch(
      /^__Host-notices=[^;]+; Path=\/; Expires=[^;]+; HttpOnly; Secure; SameSite=Strict$/,
    );
    expect(reply.headers['strict-transport-security']).toBe('max-age=31536000');
    const warned = () => bench.lines.filter(({ event }) => event === 'ops-session-without-https');
    expect(warned()).toEqual([]);
    // A proxy that forwards only the host.
    const plain = await signIn(bench, 'otto', PASSWORD, { 'x-forwarded-host': 'ops.example.test' });
    expect(cookieOf(plain)).toMatch(/^notices=/);
    expect(warned()).toMatchObject([{ level: 40, lacks: 'X-Forwarded-Proto' }]);
    const other = await signIn(bench, 'otto', PASSWORD, {
      ...https,
      origin: 'https://evil.example.test',
    });
    expect(other.status).toBe(403);
  });

  it('counts tries by the address that the proxy names', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix(), {
      OPS_TRUSTED_PROXY: '127.0.0.1',
    });
    const from = (address: string) => ({ 'x-forwarded-for': address });
    for (let tried = 0; tried < 10; tried++) {
      await signIn(bench, 'vera', `wrong ${tried}`, from('192.0.2.1'));
    }
    expect((await signIn(bench, 'vera', PASSWORD, from('192.0.2.1'))).status).toBe(429);
    expect((await signIn(bench, 'vera', PASSWORD, from('192.0.2.2'))).status).toBe(303);
  });

  it('what any other address says of itself counts for nothing', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix(), {
      OPS_TRUSTED_PROXY: '192.0.2.7',
    });
    const reply = await signIn(bench, 'otto', PASSWORD, https);
    expect(cookieOf(reply)).toMatch(/^notices=/);
    for (let tried = 0; tried < 9; tried++) {
      await signIn(bench, 'vera', 'wrong', { 'x-forwarded-for': `192.0.2.${tried}` });
    }
    expect((await signIn(bench, 'vera', PASSWORD)).status).toBe(429);
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
    const bench = await startOps(redis.url, redis.freshPrefix(), env);
    const session = await bench.nobody.get('/api/v1/session', otto);
    expect(session.json).toMatchObject({ name: 'otto', role: 'operator', by: 'proxy' });
    const token = { 'x-csrf-token': String(session.json['csrf']) };
    const placed = await bench.nobody.post(
      '/api/v1/hold/place',
      { why: 'review' },
      { ...otto, ...token },
    );
    expect(placed.status).toBe(200);
    const audit = await bench.nobody.get('/api/v1/audit', otto);
    expect(audit.json).toMatchObject({ entries: [{ who: 'otto', what: 'hold', why: 'review' }] });
    const strange = { ...token, 'x-user': 'otto2', 'x-groups': 'operator' };
    expect((await bench.nobody.post('/api/v1/hold/lift', {}, strange)).status).toBe(403);
    expect((await bench.nobody.post('/api/v1/hold/lift', {}, otto)).status).toBe(403);
  });

  it('the same words from any other address are nobody', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix(), env);
    for (const headers of [otto, { ...otto, 'x-forwarded-for': '127.0.0.1' }]) {
      const reply = await bench.ask('/api/v1/session', { headers, from: '127.0.0.2' });
      expect(reply.status).toBe(401);
    }
    expect((await bench.ask('/api/v1/session', { headers: otto })).status).toBe(200);
    // A proxy may pass on how the visitor came to it; a key that is wrong is nobody all the same.
    for (const [authorization, status] of [
      ['Basic b3R0bzp4', 200],
      ['Bearer made-up', 401],
    ] as const) {
      const reply = await bench.ask('/api/v1/session', { headers: { ...otto, authorization } });
      expect([authorization, reply.status]).toEqual([authorization, status]);
    }
  });

  it('nobody else can sign in there', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix(), env);
    expect(bench.firstSignIn).toBeUndefined();
    expect((await signIn(bench, 'operator', 'any')).status).toBe(401);
  });
});

describe('a start without users on this machine', () => {
  it('creates an operator, whose password is in no log', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix(), NO_USERS);
    const { user = '', password = '' } = bench.firstSignIn ?? {};
    expect((await signIn(bench, user, `${password}x`)).status).toBe(401);
    const reply = await signIn(bench, user, password);
    expect(reply.status).toBe(303);
    const cookie = cookieOf(reply).split(';')[0] ?? '';
    const session = await bench.nobody.get('/api/v1/session', { cookie });
    expect(session.json).toMatchObject({ name: user, role: 'operator' });
    expect(JSON.stringify(bench.lines)).not.toContain(password);
  });

  it('where others can connect, nobody is created', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix(), {
      OPS_ADDRESS: '0.0.0.0:0',
      OPS_USERS: '',
    });
    expect(bench.firstSignIn).toBeUndefined();
  });
});
