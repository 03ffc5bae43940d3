import * as client from 'openid-client';
import { isPrivate } from '../../../config/address.ts';
import type { OidcConfig } from '../../../config/config.ts';
import type { IdClaims } from './claims.ts';
import type { SignInFlow } from './flow.ts';
import { failureOf, type ProviderFailure } from './failures.ts';

/** Where the sign-in through the provider begins, and where the provider sends the visitor back to. */
export const START_PATH = '/sign-in/provider';
export const CALLBACK_PATH = '/sign-in/provider/callback';

/** Limit for each request to the provider, in seconds. */
const TIMEOUT_S = 5;
/** Largest answer of the provider. */
const MOST_BYTES = 1_048_576;
/** How long a discovery document is used, in milliseconds. */
const DISCOVERY_MS = 3_600_000;
/** By how much the clocks of provider and server may differ, in seconds. */
const CLOCK_TOLERANCE_S = 30;

/** The provider of OpenID Connect. It is asked during a sign-in only; its tokens are read and dropped. */
export class OidcProvider {
  /** Where the sign-in begins: always under the same origin, so that its cookie comes back. */
  readonly startUrl: string;
  /** Who people are, and what they may: sessions end when one of these settings changes. */
  readonly settings: string;
  readonly config: OidcConfig;
  #found: { readonly metadata: Promise<client.Configuration>; readonly until: number } | undefined;

  constructor(config: OidcConfig) {
    this.config = config;
    this.startUrl = `${config.publicUrl}${START_PATH}`;
    const { issuer, clientId, roles, roleClaim, nameClaim } = config;
    this.settings = JSON.stringify([issuer, clientId, roles, roleClaim, nameClaim]);
  }

  /** @returns the URL at the provider where the visitor signs in */
  async signInUrl(flow: SignInFlow, now: number): Promise<string | ProviderFailure> {
    try {
      const url = client.buildAuthorizationUrl(await this.#discovered(now), {
        redirect_uri: `${this.config.publicUrl}${CALLBACK_PATH}`,
        scope: this.config.scope,
        state: flow.state,
        nonce: flow.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(flow.verifier),
        code_challenge_method: 'S256',
      });
      return isPrivate(url.href) ? url.href : failureOf(undefined, 'away');
    } catch (error) {
      return failureOf(error, 'away');
    }
  }

  /**
   * Redeems the code of an answer, and verifies the ID token: signature, issuer, audience, times, nonce.
   *
   * @param query of the request that the provider sent the visitor back with
   */
  async claims(
    query: URLSearchParams,
    flow: SignInFlow,
    now: number,
  ): Promise<{ readonly claims: IdClaims } | ProviderFailure> {
    try {
      const url = new URL(`${this.config.publicUrl}${CALLBACK_PATH}`);
      url.search = query.toString();
      const tokens = await client.authorizationCodeGrant(await this.#discovered(now), url, {
        expectedState: flow.state,
        expectedNonce: flow.nonce,
        pkceCodeVerifier: flow.verifier,
        idTokenExpected: true,
      });
      return { claims: tokens.claims() ?? {} };
    } catch (error) {
      return failureOf(error, 'not-valid');
    }
  }

  /** Visitors at the same time share one request; what failed is asked again by the next one. */
  async #discovered(now: number): Promise<client.Configuration> {
    if (this.#found === undefined || this.#found.until <= now) {
      this.#found = { metadata: this.#discover(), until: now + DISCOVERY_MS };
    }
    const asked = this.#found;
    try {
      return await asked.metadata;
    } catch (error) {
      if (this.#found === asked) this.#found = undefined;
      throw error;
    }
  }

  #discover(): Promise<client.Configuration> {
    const { issuer, clientId, clientSecret } = this.config;
    const isLocal = issuer.startsWith('http:');
    return client.discovery(
      new URL(issuer),
      clientId,
      { [client.clockTolerance]: CLOCK_TOLERANCE_S },
      clientAuth(clientSecret),
      {
        [client.customFetch]: boundedFetch,
        timeout: TIMEOUT_S,
        execute: [
          // Without it the signature of an ID token that comes over TLS would not be verified.
          client.enableNonRepudiationChecks,
          ...(isLocal ? [client.allowInsecureRequests] : []),
        ],
      },
    );
  }
}

/** Sends the secret in the way that the provider takes it; where it names none, in the header. */
function clientAuth(secret: string): client.ClientAuth {
  const [inHeader, inBody] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)];
  return (server, ...request) => {
    const ways = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const auth = ways.includes('client_secret_basic') ? inHeader : inBody;
    auth(server, ...request);
  };
}

/** Reads at most {@link MOST_BYTES}; the time is limited by the signal of the request. */
async function boundedFetch(url: string, options: client.CustomFetchOptions): Promise<Response> {
  // The discovery document of a provider on this machine could name http addresses of another one.
  if (!isPrivate(url)) throw new TypeError('an address of the provider is not https');
  const { body, status, headers } = await fetch(url, options as RequestInit);
  const parts: Uint8Array[] = [];
  let bytes = 0;
  // Node's type does not say what it yields.
  for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    if (bytes > MOST_BYTES) throw new TypeError('an answer of the provider is too large');
    parts.push(part);
  }
  return new Response(bytes === 0 ? null : Buffer.concat(parts), { status, headers });
}
