import type { Route } from '../http/route.ts';
import { AUDIT } from './audit.ts';
import { BATCH } from './batch.ts';
import { BATCHES } from './batches.ts';
import { DECIDE } from './decide.ts';
import { FIND } from './find.ts';
import { HELP } from './help.ts';
import { NOT_ACCEPTED } from './not-accepted.ts';
import { NOTICE } from './notice.ts';
import { OVERVIEW } from './overview.ts';
import { WAITING } from './waiting.ts';

/** The pages. Each reads through the same functions as the API. */
export const PAGE_ROUTES: readonly Route[] = [
  OVERVIEW,
  WAITING,
  NOT_ACCEPTED,
  DECIDE,
  NOTICE,
  BATCHES,
  BATCH,
  ...FIND,
  AUDIT,
  HELP,
];
