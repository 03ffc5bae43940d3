import { randomBytes } from 'node:crypto';
import type { Signer } from '../access/signer.ts';

/** A sign-in through the provider that was started in one browser. */
export interface SignInFlow {
  /** Comes back with the answer of the provider. */
  readonly state: string;
  /** Comes back in the ID token. */
  readonly nonce: string;
  /** Proves to the provider that the one who redeems the code started the sign-in (PKCE). */
  readonly verifier: string;
  /** Where to go after it: a path of this server. */
  readonly next: string;
}

/** Content of the cookie. State, nonce and verifier are derived from the id, so it contains no secret. */
interface FlowClaims {
  readonly i: string;
  /** End: milliseconds since the epoch. */
  readonly e: number;
  readonly n: string;
}

/** How long a visitor may take at the provider, in milliseconds. */
const LIFETIME_MS = 600_000;
/** Browsers refuse cookies above 4 kB. */
const LONGEST_NEXT = 1_500;

/** Begins a sign-in. @returns it, and its cookie with the end in milliseconds since the epoch */
export function startFlow(
  signer: Signer,
  next: string,
  now: number,
): { readonly flow: SignInFlow; readonly cookie: string; readonly until: number } {
  const until = now + LIFETIME_MS;
  const kept = next.length > LONGEST_NEXT ? '/' : next;
  const claims: FlowClaims = { i: randomBytes(24).toString('base64url'), e: until, n: kept };
  return { flow: flowOf(signer, claims), cookie: signer.seal('flow', claims), until };
}

/** @returns undefined where the cookie is missing, forged or expired */
export function readFlow(
  signer: Signer,
  cookie: string | undefined,
  now: number,
): SignInFlow | undefined {
  const claims = signer.open('flow', cookie ?? '') as FlowClaims | undefined;
  return claims !== undefined && claims.e > now ? flowOf(signer, claims) : undefined;
}

function flowOf(signer: Signer, { i, n }: FlowClaims): SignInFlow {
  return {
    state: signer.sign('flow-state', i),
    nonce: signer.sign('flow-nonce', i),
    verifier: signer.sign('flow-verifier', i),
    next: n,
  };
}
