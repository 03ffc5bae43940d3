import { z } from 'zod';
import type { NoticeEvent } from '../../notices/notice-events.ts';
import { count, named, time } from '../../ops/answers/fields.ts';
import { changedAnswer, noticeAnswer, receiptAnswer } from '../../ops/answers/notice-schemas.ts';
import {
  resolvedAnswer,
  unknownNotice,
  unknownOfBatch,
} from '../../ops/answers/unknown-schemas.ts';
import { RESOLUTIONS } from '../../ops/unknown/resolutions.ts';
import { eraseAnswer } from '../../erase/erase-answer.ts';
import { findAnswer } from '../../search/find-answer.ts';

const noticeEvent = named(
  'NoticeEvent',
  z.object({
    cursor: z.string(),
    at: time,
    event: z.enum(['notice.ended', 'notice.redriven']),
    notice: z.string(),
    job: z.string(),
    state: z.enum(['accepted', 'rejected', 'unknown', 'expired', 'cancelled', 'pending']),
    code: z.string().exactOptional(),
  }),
) satisfies z.ZodType<NoticeEvent>;

const as = z.enum(RESOLUTIONS);

/** What the commands of single notices write with `--json`. */
export const NOTICE_OUTPUT = {
  send: receiptAnswer,
  show: noticeAnswer,
  find: findAnswer,
  erase: eraseAnswer,
  unknown: z.object({ notices: z.array(unknownNotice), batches: z.array(unknownOfBatch) }),
  resolve: z.union([
    resolvedAnswer.extend({ as }),
    z
      .object({
        as,
        resolved: count,
        contacts: count,
        gone: count,
        late: count,
        stopped: z.boolean(),
        reason: z.string(),
      })
      .describe('the batch cannot be sent again in its phase'),
  ]),
  events: z.array(noticeEvent),
  'events-line': noticeEvent,
  delete: changedAnswer,
};
