import type { z } from 'zod';
import { batchResults } from './batch-results.ts';
import {
  batch,
  batches,
  cancelBatch,
  changeBatchRate,
  pauseBatch,
  resumeBatch,
} from './batches.ts';
import { decideFailures } from './decide.ts';
import { failures, previewFailures } from './failures.ts';
import { liftHold, placeHold, setRateLimit, showHold, showRateLimit } from './hold.ts';
import { audit, listEvents, replayEvents, status } from './account.ts';
import { cancelByKey, cancelNotice, showByKey, showNotice } from './notice.ts';
import { erase, find } from './number.ts';
import { parkRestored, showRestored } from './restored.ts';
import type { Answer } from './operation.ts';
import { endUserSession, listSessions } from './sessions.ts';
import { addSuppression, checkSuppression, removeSuppression } from './suppress.ts';
import { cancelSelected, listWaiting } from './waiting.ts';

/** Every operation. A new one is a row here: its route, command, library call and matrix of tests come with it. */
export const OPERATIONS = [
  status,
  audit,
  showNotice,
  showByKey,
  cancelNotice,
  cancelByKey,
  find,
  erase,
  addSuppression,
  removeSuppression,
  checkSuppression,
  listEvents,
  replayEvents,
  showRestored,
  parkRestored,
  showHold,
  placeHold,
  liftHold,
  showRateLimit,
  setRateLimit,
  listWaiting,
  cancelSelected,
  batches,
  batch,
  pauseBatch,
  resumeBatch,
  changeBatchRate,
  cancelBatch,
  batchResults,
  failures,
  previewFailures,
  decideFailures,
  listSessions,
  endUserSession,
] as const;

type Listed = (typeof OPERATIONS)[number];

export type OperationName = Listed['name'];

export type OperationInput<Name extends OperationName> = z.input<
  Extract<Listed, { readonly name: Name }>['input']
>;

export type OperationOutput<Name extends OperationName> = Answer<
  z.output<Extract<Listed, { readonly name: Name }>['output']>
>;
