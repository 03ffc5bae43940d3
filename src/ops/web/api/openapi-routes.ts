import { openApi } from '../openapi.ts';
import { json, route, type Route } from '../http/route.ts';

/** @param routes of kind `api`, which the document describes */
export function openApiRoutes(routes: readonly Route[]): Route[] {
  const self: Route = route({
    method: 'GET',
    path: '/api/v1/openapi.json',
    needs: 'viewer',
    kind: 'api',
    summary: 'This document.',
    answers: { 200: { says: 'OpenAPI 3.1.' } },
    handle: () => json(openApi([...routes, self])),
  });
  return [self];
}
