export { NoticeQueue, type SendManyOptions } from './queue/notice-queue.ts';
export type { NoticeQueueOptions } from './queue/options.ts';
export type { Contact, Notice, Receipt } from './contracts/notice.ts';
export type { SendOptions } from './contracts/send-options.ts';
export {
  ERROR_CODES,
  InputError,
  NoticeQueueError,
  type ErrorCode,
  type InputIssue,
} from './errors.ts';
export type {
  BatchEvent,
  BatchEventsOptions,
  BatchFinished,
  BatchStalled,
  ContactRejected,
} from './batch/batch-events.ts';
export { findContact, type FindOptions, type FindReport } from './ops/find-contact.ts';
export type { FoundNotice } from './ops/find-notices.ts';
export type { FoundContact, FoundState } from './batch/find-in-batches.ts';
export type { FieldMap } from './batch/column-map.ts';
export type { ImportOptions, ImportProgress, ImportReport } from './batch/import-options.ts';
export type { ImportSource } from './batch/open-source.ts';
