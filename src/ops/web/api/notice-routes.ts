import { z } from 'zod';
import { DELIVERY_POLICIES } from '../../../contracts/delivery.ts';
import { noticeSchema, type Notice } from '../../../contracts/notice.ts';
import type { SendOptions } from '../../../contracts/send-options.ts';
import { InputError } from '../../../contracts/errors.ts';
import { json, route, type Route } from '../http/route.ts';

const time = z
  .union([z.int().positive(), z.iso.datetime({ offset: true })])
  .describe('milliseconds since the epoch, or ISO 8601 with a zone');

/** What the body is to its reader; NoticeQueue.send checks it as it does for the library. */
const bodyDoc = z.strictObject({
  notice: noticeSchema,
  options: z
    .strictObject({
      idempotencyKey: z.string().min(1).max(200).optional(),
      delay: z.int().min(0).optional().describe('milliseconds before it may be sent'),
      sendAt: time.optional(),
      expiresAt: time.optional(),
      priority: z.int().min(0).optional().describe('0 goes first'),
      delivery: z.enum(DELIVERY_POLICIES).optional(),
    })
    .optional(),
});

const IDEMPOTENCY_KEY = 'idempotency-key';

/** Notices from programs in any language. */
export const NOTICE_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/api/v1/notices',
    needs: 'sender',
    kind: 'api',
    summary: 'Hands one notice to the queue, with the validation and the receipt of the library.',
    headers: {
      [IDEMPOTENCY_KEY]:
        'Same key, one send: a call that is repeated queues nothing, and its receipt names the first notice. Stands for options.idempotencyKey.',
    },
    body: z.strictObject(
      {
        notice: z.custom<Notice>((value) => value !== undefined, 'expected a notice'),
        options: z.custom<SendOptions>().optional(),
      },
      'expected an object with a notice',
    ),
    bodyDoc,
    perMinute: ({ config }) => config.noticesPerMinute,
    answers: {
      202: { says: 'The queue holds it.', schema: receipt() },
      200: { says: 'The queue held it before, under the same idempotency key.', schema: receipt() },
      409: { says: 'The idempotency key was used for a different notice.' },
      413: { says: 'The body is larger than OPS_MAX_BODY_BYTES.' },
      422: { says: 'The notice or its options are wrong; `issues` names each field.' },
    },
    handle: async ({ body: { notice, options }, header }, { notices }) => {
      const given = await notices.send(notice, withKey(options, header(IDEMPOTENCY_KEY)));
      return json(given, given.duplicate ? 200 : 202);
    },
  }),
];

function receipt() {
  return z.object({
    id: z.string().describe('names the notice'),
    jobs: z.array(z.string()),
    contacts: z.int(),
    duplicate: z.boolean(),
  });
}

/** @throws InputError REQUEST_INVALID where header and options name different keys */
function withKey(options: SendOptions | undefined, header: string | undefined): SendOptions {
  // What is no object of options is refused where the options are checked.
  if (header === undefined) return options === undefined ? {} : options;
  const idempotencyKey = /^"(.*)"$/.exec(header)?.[1] ?? header;
  const own = options?.idempotencyKey;
  if (own !== undefined && own !== idempotencyKey) {
    const problem = 'expected the same key as options.idempotencyKey, or only one of the two';
    throw new InputError('REQUEST_INVALID', [{ field: 'Idempotency-Key', problem }]);
  }
  return { ...options, idempotencyKey };
}
