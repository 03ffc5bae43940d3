import { ASSET_ROUTES } from './asset-routes.ts';
import { HEALTH_ROUTES } from './health-routes.ts';
import { PAGE_ROUTES } from './pages/page-routes.ts';
import type { Route } from './route.ts';
import { SIGN_IN_ROUTES } from './sign-in-routes.ts';

/**
 * Every route of the ops server. Tests try each of them without credentials, as a viewer and from
 * another site, and the OpenAPI document is made of those of kind `api`.
 */
export const OPS_ROUTES: readonly Route[] = [
  ...HEALTH_ROUTES,
  ...ASSET_ROUTES,
  ...SIGN_IN_ROUTES,
  ...PAGE_ROUTES,
];
