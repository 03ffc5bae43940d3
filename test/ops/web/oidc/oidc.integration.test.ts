import { describe, expect, it } from 'vitest';
import { testRedis } from '../../../support/redis.ts';
import {
  CLIENT_ID,
  CLIENT_SECRET,
  startProvider,
  type TestProvider,
} from '../support/oidc-provider.ts';
import { PASSWORD, startOps, type OpsBench, type Reply } from '../support/ops-bench.ts';

const redis = testRedis();

const PUBLIC = 'http://127.0.0.1:4011';
const CALLBACK = '/sign-in/provider/callback';

interface Setting {
  readonly bench: OpsBench;
  readonly provider: TestProvider;
}

/** An ops server with its provider, where operators and viewers are groups of a realm. */
async function start(env: Readonly<Record<string, string>> = {}): Promise<Setting> {
  const provider = await startProvider(`${PUBLIC}${CALLBACK}`);
  const bench = await startOps(redis.url, redis.freshPrefix(), {
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: CLIENT_ID,
    OIDC_CLIENT_SECRET: CLIENT_SECRET,
    OIDC_ROLES: 'notice-admins:operator, support:viewer',
    OPS_PUBLIC_URL: PUBLIC,
    ...env,
  });
  return { bench, provider };
}

/** The cookies that an answer sets, as a browser sends them; cleared ones are left out. */
function cookiesOf({ headers }: Reply): string {
  const set = (headers['set-cookie'] ?? []).map((one) => one.split(';')[0] ?? '');
  return set.filter((one) => !one.endsWith('=')).join('; ');
}

/** What a browser has after the visit to the provider: where it is sent back to, and its cookie. */
interface Visit {
  readonly back: string;
  readonly cookie: string;
}

async function visit(bench: OpsBench, next = '/batches'): Promise<Visit> {
  const begun = await bench.nobody.get(`/sign-in/provider?next=${encodeURIComponent(next)}`);
  expect(begun.status).toBe(303);
  const answer = await fetch(begun.headers.location ?? '', { redirect: 'manual' });
  const back = answer.headers.get('location') ?? '';
  expect(back).toMatch(new RegExp(`^${PUBLIC}${CALLBACK}[?]`));
  return { back: back.slice(PUBLIC.length), cookie: cookiesOf(begun) };
}

const comeBack = (bench: OpsBench, { back, cookie }: Visit) => bench.nobody.get(back, { cookie });

async function signIn({ bench }: Setting, next?: string): Promise<Reply> {
  return comeBack(bench, await visit(bench, next));
}

const failures = ({ lines }: OpsBench) =>
  lines.filter(({ event }) => event === 'ops-sign-in-failed');

function expectNoSession(reply: Reply): void {
  expect(cookiesOf(reply)).toBe('');
}

describe('signing in through the provider', () => {
  it.each([
    ['viewer', ['staff', 'support'], 403],
    ['operator', ['support', 'notice-admins'], 200],
  ] as const)('makes a %s of a person with %j', async (role, roles, status) => {
    const setting = await start();
    const { bench, provider } = setting;
    provider.claims = { sub: '1', roles, email: 'kim@example.test', email_verified: true };
    const reply = await signIn(setting);
    expect(reply.status).toBe(200);
    // A redirect would still count as one of the other site, and get no strict cookie.
    expect(reply.text).toContain('<meta http-equiv="refresh" content="0; url=/batches" />');
    const cookie = cookiesOf(reply);
    expect(reply.headers['set-cookie']?.[0]).toMatch(
      /^notices=[^;]+; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Strict$/,
    );
    const session = await bench.nobody.get('/api/v1/session', { cookie });
    expect(session.json).toMatchObject({ name: 'oidc:kim@example.test', role, by: 'session' });
    const headers = { cookie, 'x-csrf-token': String(session.json['csrf']) };
    const held = await bench.nobody.post('/api/v1/hold/place', { why: 'review' }, headers);
    expect(held.status).toBe(status);
    const audit = await bench.nobody.get('/api/v1/audit', { cookie });
    const entries = status === 200 ? [{ who: 'oidc:kim@example.test', what: 'hold' }] : [];
    expect(audit.json).toMatchObject({ entries });
    const out = await bench.ask('/sign-out', { method: 'POST', headers, body: '' });
    expect(out.status).toBe(303);
    expect((await bench.nobody.get('/api/v1/session', { cookie })).status).toBe(401);
  });

  it('begins with a cookie for ten minutes that survives the way back, and no secret in it', async () => {
    const { bench } = await start();
    const reply = await bench.nobody.get('/sign-in/provider');
    const [cookie = ''] = reply.headers['set-cookie'] ?? [];
    expect(cookie).toMatch(/^notices-flow=[^;]+; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/);
    const query = new URL(reply.headers.location ?? '').searchParams;
    const payload = Buffer.from(cookie.split(/[=.]/)[1] ?? '', 'base64url').toString();
    expect(JSON.parse(payload)).toEqual({
      i: expect.any(String) as unknown,
      e: expect.any(Number) as unknown,
      n: '/',
    });
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect(query.get(name)).toMatch(/^[\w-]{43}$/);
      expect(cookie).not.toContain(query.get(name));
    }
  });

  it('sends people back to OPS_PUBLIC_URL, whatever host the request names', async () => {
    const { bench } = await start({ OPS_TRUSTED_PROXY: '127.0.0.1' });
    const reply = await bench.nobody.get('/sign-in/provider', {
      host: 'evil.example.test',
      'x-forwarded-host': 'evil.example.test',
      'x-forwarded-proto': 'https',
    });
    const query = new URL(reply.headers.location ?? '').searchParams;
    expect(query.get('redirect_uri')).toBe(`${PUBLIC}${CALLBACK}`);
    expect(reply.headers['set-cookie']?.[0]).toMatch(
      /^__Host-notices-flow=.*; Secure; SameSite=Lax/,
    );
  });

  it.each([
    '//evil.example.test/',
    '/.//evil.example.test',
    '/\\evil',
    'https://evil.example.test',
  ])('with next=%j does not lead to another site', async (next) => {
    const setting = await start();
    setting.provider.claims = { sub: '1', roles: 'support' };
    const reply = await signIn(setting, next);
    expect(reply.text).toContain('content="0; url=/"');
    expect(reply.text).not.toContain('evil');
  });

  it('reads roles in an object, a name of choice, and sends the secret as the provider takes it', async () => {
    const setting = await start({
      OIDC_ROLE_CLAIM: 'realm_access.roles',
      OIDC_NAME_CLAIM: 'preferred_username',
    });
    const { bench, provider } = setting;
    provider.metadata = { token_endpoint_auth_methods_supported: ['client_secret_post'] };
    provider.claims = { sub: '1', realm_access: { roles: ['support'] }, preferred_username: 'lee' };
    const cookie = cookiesOf(await signIn(setting));
    const session = await bench.nobody.get('/api/v1/session', { cookie });
    expect(session.json).toMatchObject({ name: 'oidc:lee', role: 'viewer' });
  });

  it('is offered on the sign-in page, next to passwords where users have some', async () => {
    const { bench } = await start();
    const link = `href="${PUBLIC}/sign-in/provider?next=%2Fbatches"`;
    const page = await bench.nobody.get('/batches', { accept: 'text/html' });
    expect(page.text).toContain(link);
    expect(page.text).toContain('type="password"');
    const { bench: other } = await start({ OPS_USERS: '' });
    expect(other.invitation.user).toBe('');
    const only = await other.nobody.get('/batches', { accept: 'text/html' });
    expect(only.text).toContain(link);
    expect(only.text).not.toContain('type="password"');
  });

  it('ends with its settings, also where the key of sessions stays', async () => {
    const key = { OPS_SESSION_KEY: 'k'.repeat(32) };
    const first = await start(key);
    first.provider.claims = { sub: '1', roles: 'notice-admins' };
    const cookie = cookiesOf(await signIn(first));
    const { issuer } = first.provider;
    const again = await start({ ...key, OIDC_ISSUER: issuer });
    expect((await again.bench.nobody.get('/api/v1/session', { cookie })).status).toBe(200);
    for (const env of [
      { OIDC_ISSUER: issuer, OIDC_ROLES: 'support:viewer' },
      { OIDC_ISSUER: issuer, OIDC_ROLE_CLAIM: 'groups' },
      { OIDC_ISSUER: issuer, OIDC_NAME_CLAIM: 'email' },
      {},
    ]) {
      const changed = await start({ ...key, ...env });
      expect((await changed.bench.nobody.get('/api/v1/session', { cookie })).status).toBe(401);
    }
  });

  it('does not exist where no provider is configured', async () => {
    const bench = await startOps(redis.url, redis.freshPrefix());
    for (const path of ['/sign-in/provider', CALLBACK]) {
      expect(await bench.nobody.get(path)).toMatchObject({
        status: 404,
        json: { code: 'NOT_FOUND' },
      });
    }
  });
});

describe('an answer that is not valid', () => {
  it.each([
    ['another nonce', { nonce: 'another' }, 'OAUTH_JWT_CLAIM_COMPARISON_FAILED'],
    ['another audience', { aud: 'another' }, 'OAUTH_JWT_CLAIM_COMPARISON_FAILED'],
    ['another issuer', { iss: 'https://evil.example.test' }, 'OAUTH_JWT_CLAIM_COMPARISON_FAILED'],
    ['a time that is over', { exp: 1_700_000_000 }, 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED'],
  ])('with %s in the ID token signs nobody in', async (_, claims, code) => {
    const setting = await start();
    setting.provider.claims = { sub: '1', roles: 'notice-admins', ...claims };
    const reply = await signIn(setting);
    expect(reply.status).toBe(401);
    expect(reply.text).toContain('The answer of the sign-in provider is not valid.');
    expectNoSession(reply);
    expect(failures(setting.bench)).toMatchObject([
      { by: 'oidc', address: '127.0.0.1', reason: 'not-valid', code },
    ]);
  });

  it.each([
    ['of another key', 'other-key'],
    ['that is missing, with the algorithm "none"', 'none'],
  ] as const)('with a signature %s signs nobody in', async (_, signing) => {
    const setting = await start();
    setting.provider.claims = { sub: '1', roles: 'notice-admins' };
    setting.provider.metadata = { id_token_signing_alg_values_supported: ['RS256', 'none'] };
    setting.provider.signing = signing;
    const reply = await signIn(setting);
    expect(reply.status).toBe(401);
    expectNoSession(reply);
    expect(failures(setting.bench)).toMatchObject([{ reason: 'not-valid' }]);
    setting.provider.signing = 'right';
    expect((await signIn(setting)).status).toBe(200);
  });

  it('with another state, or without the cookie of its browser, is not redeemed', async () => {
    const { bench, provider } = await start();
    provider.claims = { sub: '1', roles: 'notice-admins' };
    const [mine, other] = [await visit(bench), await visit(bench)];
    for (const cookie of [
      '',
      other.cookie,
      'notices-flow=',
      'notices-flow=made.up',
      mine.cookie.replace('=', '=x'),
    ]) {
      const reply = await comeBack(bench, { back: mine.back, cookie });
      expect([cookie, reply.status]).toEqual([cookie, 401]);
      expect(reply.text).toContain('This sign-in was not started in this browser');
      expectNoSession(reply);
    }
    expect(provider.asked).not.toContain('/token');
    expect(failures(bench).map(({ reason }) => reason)).toEqual(Array(5).fill('not-started'));
    expect((await comeBack(bench, mine)).status).toBe(200);
  });

  it('counts once', async () => {
    const { bench, provider } = await start();
    provider.claims = { sub: '1', roles: 'notice-admins' };
    const once = await visit(bench);
    const first = await comeBack(bench, once);
    expect(first.status).toBe(200);
    expect(first.headers['set-cookie']?.[1]).toMatch(/^notices-flow=; .*1970/);
    const second = await comeBack(bench, once);
    expect(second.status).toBe(401);
    expectNoSession(second);
    expect(failures(bench)).toMatchObject([{ reason: 'not-valid', code: 'invalid_grant' }]);
  });

  it('that refuses the secret of this server says so in the log, not that the provider is away', async () => {
    const setting = await start({ OIDC_CLIENT_SECRET: 'the one before' });
    setting.provider.claims = { sub: '1', roles: 'notice-admins' };
    const reply = await signIn(setting);
    expect(reply.status).toBe(401);
    expect(reply.text).toContain('The answer of the sign-in provider is not valid.');
    expectNoSession(reply);
    const { bench } = setting;
    expect(failures(bench)).toMatchObject([{ reason: 'not-valid', code: 'invalid_client' }]);
    expect(JSON.stringify(bench.lines)).not.toMatch(/provider-text|the one before/);
  });

  it('that declines says so, without the words of the provider', async () => {
    const { bench } = await start();
    const { back, cookie } = await visit(bench);
    const state = new URL(back, PUBLIC).searchParams.get('state') ?? '';
    const query = `error=access_denied&error_description=provider-text&state=${state}`;
    const reply = await comeBack(bench, { back: `${CALLBACK}?${query}`, cookie });
    expect(reply.status).toBe(401);
    expect(reply.text).toContain('The sign-in provider did not sign you in.');
    expect(reply.text).not.toContain('provider-text');
    expect(failures(bench)).toMatchObject([{ reason: 'declined' }]);
  });
});

describe('a person whom nobody gave a role', () => {
  it('is refused with a page that says so, in the log, and after twenty times for an hour', async () => {
    const setting = await start({ OPS_TRUSTED_PROXY: '127.0.0.1' });
    const { bench, provider } = setting;
    provider.claims = { sub: '7', roles: ['staff', 'operator'], email: 'x@example.test' };
    // Other addresses of one network, with their own limit for each minute.
    const tryFrom = async (network: string, index: number) => {
      const headers = { 'x-forwarded-for': `${network}:${index}` };
      const begun = await bench.nobody.get('/sign-in/provider', headers);
      const answer = await fetch(begun.headers.location ?? '', { redirect: 'manual' });
      const back = (answer.headers.get('location') ?? '').slice(PUBLIC.length);
      return bench.nobody.get(back, { ...headers, cookie: cookiesOf(begun) });
    };
    const reply = await tryFrom('2001:db8:1:2:', 1);
    expect(reply.status).toBe(403);
    expect(reply.text).toContain('Your account has no role on this server.');
    expectNoSession(reply);
    expect(failures(bench)).toMatchObject([
      { by: 'oidc', reason: 'no-role', who: 'oidc:7', address: '2001:db8:1:2::1' },
    ]);
    const now = Date.now();
    for (let count = 1; count < 20; count += 1) {
      bench.context.access.countProviderSignIn('7', '2001:db8:1:2::/64', now, false);
    }
    expect((await tryFrom('2001:db8:1:2:', 2)).status).toBe(429);
    expect((await tryFrom('2001:db8:1:3:', 1)).status).toBe(403);
  });

  it('is refused without a name that can be shown', async () => {
    const setting = await start({ OIDC_NAME_CLAIM: 'nick' });
    setting.provider.claims = { sub: '7', roles: 'support', nick: 'two\nlines' };
    const reply = await signIn(setting);
    expect(reply.status).toBe(403);
    expect(reply.text).toContain('OIDC_NAME_CLAIM');
    expectNoSession(reply);
  });
});

describe('a provider that is away', () => {
  const signInWithPassword = (bench: OpsBench) =>
    bench.ask('/sign-in', {
      method: 'POST',
      body: new URLSearchParams({ name: 'vera', password: PASSWORD }).toString(),
    });

  it.each(['fail', 'garbage', 'flood', 'hang'] as const)(
    'and answers with "%s" does not keep users with a password out',
    async (trouble) => {
      const { bench, provider } = await start();
      provider.trouble.set('/.well-known/openid-configuration', trouble);
      const asked = bench.nobody.get('/sign-in/provider');
      expect((await signInWithPassword(bench)).status).toBe(303);
      const reply = await asked;
      expect(reply.status).toBe(503);
      expect(reply.text).toContain('The sign-in provider does not answer as it should.');
      expect(reply.text).toContain('type="password"');
      expect(reply.text).not.toContain('provider-text');
      expect(failures(bench)).toMatchObject([{ reason: 'away' }]);
      provider.trouble.clear();
      provider.claims = { sub: '1', roles: 'support' };
      expect((await comeBack(bench, await visit(bench))).status).toBe(200);
    },
    20_000,
  );

  it.each([
    ['/token', 'fail'],
    ['/token', 'challenge'],
    ['/token', 'garbage'],
    ['/token', 'hang'],
    ['/jwks', 'fail'],
    ['/jwks', 'flood'],
  ] as const)(
    'on the way back, where %s answers with "%s", signs nobody in',
    async (path, trouble) => {
      const { bench, provider } = await start();
      provider.claims = { sub: '1', roles: 'notice-admins' };
      const visited = await visit(bench);
      provider.trouble.set(path, trouble);
      const reply = await comeBack(bench, visited);
      expect(reply.status).toBe(503);
      expectNoSession(reply);
      expect(failures(bench)).toMatchObject([{ reason: 'away' }]);
    },
    20_000,
  );

  it('and cannot be connected to says what to do', async () => {
    const { bench, provider } = await start();
    provider.close();
    const reply = await bench.nobody.get('/sign-in/provider');
    expect(reply.status).toBe(503);
    expect(reply.text).toContain('Try again in a minute, or sign in with a password');
    expect(failures(bench)).toMatchObject([{ reason: 'away', code: 'NO_CONNECTION' }]);
  });

  it('or names addresses of other machines without https is not used', async () => {
    const { bench, provider } = await start();
    provider.metadata = { authorization_endpoint: 'http://evil.example.test/authorize' };
    const reply = await bench.nobody.get('/sign-in/provider');
    expect([reply.status, reply.headers.location]).toEqual([503, undefined]);
  });
});

it('no secret, code or token is in the log or an answer', async () => {
  const setting = await start();
  const { bench, provider } = setting;
  const replies: Reply[] = [];
  for (const [roles, signing] of [
    ['notice-admins', 'right'],
    ['staff', 'right'],
    ['support', 'other-key'],
  ] as const) {
    provider.claims = { sub: '1', roles };
    provider.signing = signing;
    const visited = await visit(bench);
    replies.push(await comeBack(bench, visited), await comeBack(bench, visited));
  }
  expect(replies.map(({ status }) => status)).toEqual([200, 401, 403, 401, 401, 401]);
  const written = JSON.stringify([
    bench.lines,
    replies.map(({ headers, text }) => [headers, text]),
  ]);
  expect(provider.secrets.length).toBeGreaterThan(9);
  for (const secret of [CLIENT_SECRET, ...provider.secrets]) {
    expect(written).not.toContain(secret);
    expect(written).not.toContain(encodeURIComponent(secret));
  }
});
