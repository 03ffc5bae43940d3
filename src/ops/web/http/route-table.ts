import { LIST_ROUTES } from '../api/list-routes.ts';
import { NOTICE_ROUTES } from '../api/notice-routes.ts';
import { OPERATIONS } from '../../operations/operations.ts';
import { openApiRoute } from '../openapi.ts';
import { ACCOUNT_ROUTES } from '../api/account-routes.ts';
import { ASSET_ROUTES } from '../assets.ts';
import { AUDIT } from '../pages/audit.ts';
import { BATCH } from '../pages/batch.ts';
import { BATCHES } from '../pages/batches.ts';
import { FIND } from '../pages/find.ts';
import { HELP } from '../pages/help.ts';
import { NOT_ACCEPTED } from '../pages/not-accepted.ts';
import { NOTICE } from '../pages/notice.ts';
import { OVERVIEW } from '../pages/overview.ts';
import { RESTORED } from '../pages/restored.ts';
import { WAITING } from '../pages/waiting.ts';
import { operationRoutes } from './operation-routes.ts';
import type { Route } from './route.ts';
import { SIGN_IN_ROUTES } from '../access/sign-in-routes.ts';

const ROUTES: readonly Route[] = [
  ...ACCOUNT_ROUTES,
  ...ASSET_ROUTES,
  ...SIGN_IN_ROUTES,
  OVERVIEW,
  WAITING,
  NOT_ACCEPTED,
  NOTICE,
  BATCHES,
  BATCH,
  ...FIND,
  AUDIT,
  RESTORED,
  HELP,
  ...OPERATIONS.flatMap((row) => operationRoutes(row)),
  ...NOTICE_ROUTES,
  ...LIST_ROUTES,
];

/**
 * Every route of the ops server. Tests request each of them without credentials, as a viewer and from
 * another site; the OpenAPI document is made of those of kind `api` and `health`.
 */
export const OPS_ROUTES: readonly Route[] = [...ROUTES, openApiRoute(ROUTES)];
