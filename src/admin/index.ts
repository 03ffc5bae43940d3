export {
  NoticeAdmin,
  type AdminOptions,
  type BatchStatus,
  type NoticeAdminOptions,
} from './notice-admin.ts';
export type { RedriveReport, RedriveSelection } from '../batch/failures/redrive-batch.ts';
export type { FailedFilter } from '../notices/failed-notices.ts';
export type { FailedReport, FailedSelection } from '../ops/notice-actions.ts';
export type {
  OperationInput,
  OperationName,
  OperationOutput,
} from '../ops/operations/operations.ts';
