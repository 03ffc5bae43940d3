export { NoticeQueue, type Notices } from './producer/notice-queue.ts';
export type { NoticeQueueOptions } from './producer/options.ts';
export type { Receipt } from './contracts/notice.ts';
export type {
  GivenContact as Contact,
  GivenNotice as Notice,
  NoticeOf,
} from './contracts/notice.ts';
export type {
  CancelAnswer,
  CancelOptions,
  CancelReport,
  NoticeRef,
  NoticeState,
  NoticeView,
  PendingReason,
  Retention,
} from './notices/notice-state.ts';
export type {
  AccountEvent,
  BatchFinished,
  BatchRefused,
  BatchStalled,
  ContactRejected,
  NoticeEvent,
  WatchEvent,
} from './events/event.ts';
export type { EventsOptions } from './events/follow.ts';
export type { SendManyOptions, SendOptions } from './contracts/send-options.ts';
export {
  ERROR_CODES,
  ImportError,
  InputError,
  NoticeQueueError,
  type ErrorCode,
  type InputIssue,
} from './contracts/errors.ts';
export { findContact, type FindOptions } from './search/find-contact.ts';
export type { FindReport, FoundContact, FoundNotice, FoundState } from './search/find-answer.ts';
export type { FieldMap, SentColumns } from './batch/source/sent-columns.ts';
export type { ImportOptions, ImportProgress, ImportReport } from './batch/import/import-options.ts';
export type { ImportSource } from './batch/source/open-source.ts';
