import { allows, type Identity, type Needs } from './identity.ts';

export type AccessRefusal = 'NOT_SIGNED_IN' | 'NOT_PERMITTED' | 'CROSS_SITE';

/** What a request is judged by, before its body is read. */
export interface AccessDecision {
  /** Role that the route needs; undefined where no route matches: then the caller must be signed in. */
  readonly needs: Needs | undefined;
  readonly method: string;
  readonly identity: Identity | undefined;
  /** Whether the route answers data: a stream, a download, JSON. Pages may be opened by a link of another site. */
  readonly isData?: boolean;
  readonly origin: string | undefined;
  /** The `Sec-Fetch-Site` header. Browsers send it over https, and to this machine. */
  readonly fetchSite: string | undefined;
  /** Host and port that the request was sent to. */
  readonly host: string | undefined;
}

/** Decides whether a request is allowed: open or with a role that is enough; a change only from a page of this server. */
export function authorize(request: AccessDecision): AccessRefusal | undefined {
  const { needs = 'viewer', method, identity } = request;
  if (needs !== 'open') {
    if (identity === undefined) return 'NOT_SIGNED_IN';
    if (!allows(identity.role, needs)) return 'NOT_PERMITTED';
  }
  if (identity?.by === 'key') return undefined;
  if (reads(method)) {
    const isElsewhere = request.fetchSite === 'cross-site' || request.fetchSite === 'same-site';
    return request.isData === true && isElsewhere ? 'CROSS_SITE' : undefined;
  }
  return isSameOrigin(request) ? undefined : 'CROSS_SITE';
}

export function reads(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Whether a change comes from a page of this server. Where no header says it, the CSRF token decides. */
function isSameOrigin({ origin, fetchSite, host }: AccessDecision): boolean {
  if (fetchSite === 'same-origin') return true;
  if (fetchSite !== undefined && fetchSite !== 'none') return false;
  if (origin === undefined) return true;
  if (host === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === host.toLowerCase();
}
