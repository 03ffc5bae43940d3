import { NOTICE_ROUTES } from '../api/notice-routes.ts';
import { OPERATIONS } from '../../operations/operations.ts';
import { openApiRoute } from '../openapi.ts';
import { ACCOUNT_ROUTES } from '../api/account-routes.ts';
import { ASSET_ROUTES } from '../assets.ts';
import { PAGE_ROUTES } from '../pages/pages.ts';
import { operationRoutes } from './operation-routes.ts';
import type { Route } from './route.ts';
import { SIGN_IN_ROUTES } from '../access/sign-in-routes.ts';

const ROUTES: readonly Route[] = [
  ...ACCOUNT_ROUTES,
  ...ASSET_ROUTES,
  ...SIGN_IN_ROUTES,
  ...PAGE_ROUTES,
  ...OPERATIONS.flatMap((row) => operationRoutes(row)),
  ...NOTICE_ROUTES,
];

/**
 * Every route of the ops server. Tests request each of them without credentials, as a viewer and from
 * another site; the OpenAPI document is made of those of kind `api` and `health`.
 */
export const OPS_ROUTES: readonly Route[] = [...ROUTES, openApiRoute(ROUTES)];
