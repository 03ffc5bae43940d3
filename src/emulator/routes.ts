import type { EmulatedApiVersion } from './service/auth-header.ts';

/** The meaning of a method and a path. */
export type EmulatedRoute =
  | { readonly kind: 'token' | 'send'; readonly version: EmulatedApiVersion }
  | { readonly kind: 'control'; readonly path: string; readonly query: URLSearchParams }
  | { readonly kind: 'wrong-method' }
  | { readonly kind: 'unknown' };

/**
 * The paths of the service. Those of v2 are documented (service-api, Endpoints); issuance is
 * identical on v1, and the v1 send path mirrors v2 as services of this kind do.
 */
const PATHS: ReadonlyMap<string, EmulatedRoute> = new Map([
  ['/api/v1/token', { kind: 'token', version: 'v1' }],
  ['/api/v2/token', { kind: 'token', version: 'v2' }],
  ['/api/v1/notices/send', { kind: 'send', version: 'v1' }],
  ['/api/v2/notices/send', { kind: 'send', version: 'v2' }],
]);

const CONTROL = '/control/';

/** @param target path and query of the request line */
export function routeOf(method: string, target: string): EmulatedRoute {
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  if (path.startsWith(CONTROL)) {
    const query = new URLSearchParams(mark < 0 ? '' : target.slice(mark));
    return { kind: 'control', path: path.slice(CONTROL.length), query };
  }
  const route = PATHS.get(path);
  if (route === undefined) return { kind: 'unknown' };
  return method === 'POST' ? route : { kind: 'wrong-method' };
}
