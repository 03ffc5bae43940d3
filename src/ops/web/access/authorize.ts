import { allows, type Identity, type Needs } from './identity.ts';

/** Why a request is not let in. */
export type AccessRefusal = 'NOT_SIGNED_IN' | 'NOT_PERMITTED' | 'CROSS_SITE';

/** What decides about it before its body is read. */
export interface AccessDecision extends RequestOrigin {
  /** Undefined where no route says so: then nobody but who is signed in learns even that. */
  readonly needs: Needs | undefined;
  readonly method: string;
  readonly identity: Identity | undefined;
}

/**
 * | route | caller | request | answer |
 * |---|---|---|---|
 * | open | any | reads | pass |
 * | any other | unknown | any | NOT_SIGNED_IN |
 * | needs more than the role | known | any | NOT_PERMITTED |
 * | open, or the role is enough | by key | any | pass |
 * | open, or the role is enough | any other | reads | pass |
 * | open, or the role is enough | any other | changes, from a page of ours | pass |
 * | open, or the role is enough | any other | changes, from elsewhere | CROSS_SITE |
 */
export function authorize(entry: AccessDecision): AccessRefusal | undefined {
  const { needs = 'viewer', method, identity } = entry;
  if (needs !== 'open') {
    if (identity === undefined) return 'NOT_SIGNED_IN';
    if (!allows(identity.role, needs)) return 'NOT_PERMITTED';
  }
  if (reads(method) || identity?.by === 'key') return undefined;
  return isFromHere(entry) ? undefined : 'CROSS_SITE';
}

/** Whether a method changes nothing. */
export function reads(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** What a browser says of where a request comes from. */
export interface RequestOrigin {
  /** The `Origin` header. */
  readonly origin: string | undefined;
  /** The `Sec-Fetch-Site` header. Browsers send it over https, and to this machine. */
  readonly fetchSite: string | undefined;
  /** Host and port that the caller believes to call. */
  readonly host: string | undefined;
}

/**
 * Whether a change may come from where it says it comes from.
 *
 * | Sec-Fetch-Site | Origin | answer |
 * |---|---|---|
 * | same-origin | any | yes |
 * | none (typed, a bookmark) | none, or ours | yes |
 * | same-site, cross-site, anything else | any | no |
 * | missing | ours | yes |
 * | missing | another, or `null` | no |
 * | missing | missing | yes: no browser of today; the token decides |
 */
export function isFromHere({ origin, fetchSite, host }: RequestOrigin): boolean {
  if (fetchSite === 'same-origin') return true;
  if (fetchSite !== undefined && fetchSite !== 'none') return false;
  if (origin === undefined) return true;
  if (host === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === host.toLowerCase();
}
