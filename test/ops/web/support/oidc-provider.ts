import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

export const CLIENT_ID = 'notices-ops';
export const CLIENT_SECRET = 'a secret of the client: %+&';

/** What a path answers in place of what it should. */
export type Trouble = 'hang' | 'fail' | 'challenge' | 'garbage' | 'flood';

/** How ID tokens are signed. */
export type Signing = 'right' | 'other-key' | 'none';

/** A small provider of OpenID Connect that signs everybody in as one person. */
export interface TestProvider {
  readonly issuer: string;
  /** Claims of the person, also in place of the standard ones of the ID token. */
  claims: Record<string, unknown>;
  signing: Signing;
  /** Whether it shows a page with a link, as a provider does where a person has to sign in. Default: no. */
  asks: boolean;
  readonly trouble: Map<string, Trouble>;
  /** Fields of the discovery document in place of the right ones. */
  metadata: Record<string, unknown>;
  /** Paths that were requested. */
  readonly asked: string[];
  /** Codes, tokens and verifiers that were seen: none may be written anywhere. */
  readonly secrets: string[];
  close(): void;
}

/** An authorization that was granted and not yet redeemed. */
interface Grant {
  readonly redirect: string;
  readonly challenge: string;
  readonly nonce: string;
}

interface State {
  readonly grants: Map<string, Grant>;
  readonly key: KeyObject;
  readonly other: KeyObject;
  readonly jwk: object;
}

const CHALLENGE = { 'www-authenticate': 'Basic realm="provider-text"' };
const HTML = { 'content-type': 'text/html; charset=utf-8' };

/** A page with an icon of its own, so that the browser asks for none. */
const signInPage = (location: string) =>
  `<link rel="icon" href="data:," /><a href="${location.replaceAll('&', '&amp;')}">I am Kim</a>`;

const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Made once: it takes longer than a test. */
const OWN = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const OTHER = generateKeyPairSync('rsa', { modulusLength: 2_048 });

/**
 * @param redirect the only URL to which visitors are sent back
 * @param host name of this machine in its addresses: `localhost` is another site than 127.0.0.1 to a browser
 */
export async function startProvider(redirect: string, host = '127.0.0.1'): Promise<TestProvider> {
  const { privateKey: key, publicKey } = OWN;
  const { privateKey: other } = OTHER;
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'first', alg: 'RS256', use: 'sig' };
  const state: State = { grants: new Map(), key, other, jwk };
  const server = createServer((request, answer) => {
    serve(provider, state, redirect, request, answer).catch((error: unknown) => {
      answer.writeHead(500).end(String(error));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  onTestFinished(close);
  const provider: TestProvider = {
    issuer: `http://${host}:${(server.address() as AddressInfo).port}`,
    claims: { sub: 'person-1' },
    signing: 'right',
    asks: false,
    trouble: new Map(),
    metadata: {},
    asked: [],
    secrets: [],
    close,
  };
  return provider;
}

async function serve(
  provider: TestProvider,
  state: State,
  redirect: string,
  request: IncomingMessage,
  answer: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '', provider.issuer);
  provider.asked.push(url.pathname);
  const trouble = provider.trouble.get(url.pathname);
  if (trouble !== undefined) return misbehave(trouble, answer);
  const json = (body: object, status = 200, more: Readonly<Record<string, string>> = {}) => {
    const headers = { 'content-type': 'application/json', ...more };
    answer.writeHead(status, headers).end(JSON.stringify(body));
  };
  switch (url.pathname) {
    case '/.well-known/openid-configuration':
      return json({
        issuer: provider.issuer,
        authorization_endpoint: `${provider.issuer}/authorize`,
        token_endpoint: `${provider.issuer}/token`,
        jwks_uri: `${provider.issuer}/jwks`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
        ...provider.metadata,
      });
    case '/jwks':
      return json({ keys: [state.jwk] });
    case '/authorize': {
      const location = authorize(provider, state, redirect, url.searchParams);
      if (!provider.asks) answer.writeHead(302, { location }).end();
      else answer.writeHead(200, HTML).end(signInPage(location));
      return undefined;
    }
    case '/token': {
      const form = new URLSearchParams(await text(request));
      const problem = refusal(state, request, form);
      // As RFC 6749 (5.2) requires it for a secret in the header.
      if (problem === 'invalid_client') return json({ error: problem }, 401, CHALLENGE);
      if (problem !== undefined) return json({ error: problem }, 400);
      return json(redeem(provider, state, form));
    }
    default:
      return json({}, 404);
  }
}

function misbehave(trouble: Trouble, answer: ServerResponse): void {
  const type = { 'content-type': 'application/json' };
  if (trouble === 'fail') answer.writeHead(500).end('provider-text-of-an-error');
  if (trouble === 'challenge') answer.writeHead(503, CHALLENGE).end();
  if (trouble === 'garbage') answer.writeHead(200, type).end('{"issuer": provider-text');
  if (trouble === 'flood') answer.writeHead(200, type).end(`"${'x'.repeat(2_000_000)}"`);
}

function authorize(
  { secrets }: TestProvider,
  { grants }: State,
  redirect: string,
  query: URLSearchParams,
): string {
  const field = (name: string) => query.get(name) ?? '';
  const isRight =
    field('client_id') === CLIENT_ID &&
    field('redirect_uri') === redirect &&
    field('response_type') === 'code' &&
    field('code_challenge_method') === 'S256' &&
    field('scope').split(' ').includes('openid');
  if (!isRight) throw new Error('the request is not one of the client');
  const code = randomBytes(24).toString('base64url');
  secrets.push(code);
  grants.set(code, { redirect, challenge: field('code_challenge'), nonce: field('nonce') });
  return `${redirect}?${new URLSearchParams({ code, state: field('state') }).toString()}`;
}

/** The error of a token request, if any. A code counts once. */
function refusal(
  { grants }: State,
  request: IncomingMessage,
  form: URLSearchParams,
): string | undefined {
  const [, basic = ''] = (request.headers.authorization ?? '').split(' ');
  const [id = '', secret = ''] = Buffer.from(basic, 'base64').toString().split(':');
  const inHeader = decoded(id) === CLIENT_ID && decoded(secret) === CLIENT_SECRET;
  const inBody = form.get('client_id') === CLIENT_ID && form.get('client_secret') === CLIENT_SECRET;
  if (!inHeader && !inBody) return 'invalid_client';
  const grant = grants.get(form.get('code') ?? '');
  const verifier = form.get('code_verifier') ?? '';
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const isRight =
    grant !== undefined &&
    grant.challenge === challenge &&
    grant.redirect === form.get('redirect_uri');
  return isRight ? undefined : 'invalid_grant';
}

/** Name and secret are form-encoded in the header (RFC 6749). */
const decoded = (text: string) => new URLSearchParams(`x=${text}`).get('x');

function redeem(provider: TestProvider, state: State, form: URLSearchParams): object {
  const code = form.get('code') ?? '';
  const { nonce = '' } = state.grants.get(code) ?? {};
  state.grants.delete(code);
  const now = Math.floor(Date.now() / 1_000);
  const claims = {
    iss: provider.issuer,
    aud: CLIENT_ID,
    iat: now,
    exp: now + 300,
    nonce,
    ...provider.claims,
  };
  const accessToken = randomBytes(24).toString('base64url');
  const idToken = signed(claims, provider.signing, state);
  provider.secrets.push(accessToken, idToken, form.get('code_verifier') ?? '');
  return { access_token: accessToken, token_type: 'Bearer', expires_in: 300, id_token: idToken };
}

function signed(claims: object, signing: Signing, { key, other }: State): string {
  const alg = signing === 'none' ? 'none' : 'RS256';
  const content = `${base64({ alg, kid: 'first', typ: 'JWT' })}.${base64(claims)}`;
  if (signing === 'none') return `${content}.`;
  const by = signing === 'other-key' ? other : key;
  return `${content}.${sign('sha256', Buffer.from(content), by).toString('base64url')}`;
}
