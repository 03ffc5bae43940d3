import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { count, named } from '../../../contracts/answer.ts';
import { DELIVERY_POLICIES } from '../../../contracts/outcome.ts';
import { type GivenNotice, noticeSchema, type Receipt } from '../../../contracts/notice.ts';
import type { SendOptions } from '../../../contracts/send-options.ts';
import { InputError } from '../../../contracts/errors.ts';
import { route, type Route } from '../http/route.ts';
import { scopedKey, senderOf } from '../../operations/notice.ts';

const time = z
  .union([z.int().positive(), z.iso.datetime({ offset: true })])
  .describe('milliseconds since the epoch, or ISO 8601 with a zone');

/** What `send` answers. */
const receiptAnswer = named(
  'Receipt',
  z.object({
    id: z.string().describe('id of the notice'),
    contacts: count,
    duplicate: z
      .boolean()
      .describe('whether it was queued before with the same idempotency key; nothing is queued'),
  }),
) satisfies z.ZodType<Receipt>;

/** Schema of the body for the document; NoticeQueue.send validates it as it does for the library. */
const bodyDoc = z.strictObject({
  notice: noticeSchema.extend({
    fields: z
      .record(z.string(), z.unknown())
      .optional()
      .describe(
        'fields unknown here, which are sent to the service unchanged; a contact may have such, too',
      ),
  }),
  options: z
    .strictObject({
      idempotencyKey: z.string().min(1).max(200).optional(),
      delay: z.int().min(0).optional().describe('earliest send time, in milliseconds from now'),
      sendAt: time.optional(),
      expiresAt: time.optional(),
      priority: z.int().min(0).optional().describe('lower is sent earlier'),
      delivery: z.enum(DELIVERY_POLICIES).optional(),
    })
    .optional(),
});

const IDEMPOTENCY_KEY = 'idempotency-key';

/** Enqueuing notices over HTTP. */
export const NOTICE_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/api/v1/notices',
    needs: 'sender',
    kind: 'api',
    summary: 'Enqueues one notice, with the validation and the receipt of the library.',
    headers: {
      [IDEMPOTENCY_KEY]:
        'A repeated request with the same key enqueues nothing; its receipt names the first notice. Keys of two API keys with different names do not meet. Same as options.idempotencyKey.',
    },
    input: z.strictObject(
      {
        notice: z.custom<GivenNotice>((value) => value !== undefined, 'expected a notice'),
        options: z.custom<SendOptions>().optional(),
      },
      'expected an object with a notice',
    ),
    bodyDoc,
    perMinute: 'notices',
    answers: {
      202: { says: 'The notice is queued.', schema: receiptAnswer },
      200: {
        says: 'The notice was queued before with the same idempotency key.',
        schema: receiptAnswer,
      },
      409: { says: 'The idempotency key was used for a different notice.' },
      413: { says: 'The body is larger than 4 MiB.' },
      422: { says: 'The notice or its options are invalid; `issues` names each field.' },
    },
    handle: async ({ input: { notice, options }, who, request, reply }, context) => {
      const keyed = withKey(options, request.headers[IDEMPOTENCY_KEY]);
      const key: unknown = keyed.idempotencyKey;
      // It counts for the API key of the caller only.
      const scoped =
        typeof key === 'string' && scopedKey(senderOf(who?.role, who?.name ?? ''), key);
      const given = await context.notices.send(
        notice,
        scoped === false ? keyed : { ...keyed, idempotencyKey: scoped },
      );
      void reply.code(given.duplicate ? 200 : 202);
      return given;
    },
  }),
];

/** @throws InputError REQUEST_INVALID where header and options name different keys */
function withKey(options: SendOptions | undefined, header: unknown): SendOptions {
  // Options that are not an object are refused where the options are validated.
  if (typeof header !== 'string') return options === undefined ? {} : options;
  const text = textOf(header);
  const idempotencyKey = /^"(.*)"$/.exec(text)?.[1] ?? text;
  const own = options?.idempotencyKey;
  if (own !== undefined && own !== idempotencyKey) {
    const problem = 'expected the same key as options.idempotencyKey, or only one of the two';
    throw new InputError('REQUEST_INVALID', [{ field: 'Idempotency-Key', problem }]);
  }
  return { ...options, idempotencyKey };
}

/** A header in UTF-8, as bodies and queries are: Node reads each of its bytes as a character. */
function textOf(header: string): string {
  const bytes = Buffer.from(header, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : header;
}
