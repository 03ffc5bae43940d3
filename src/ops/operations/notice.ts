import { createHash } from 'node:crypto';
import { z } from 'zod';
import { InputError } from '../../contracts/errors.ts';
import { cancelNotice as cancelWaiting } from '../../notices/cancel.ts';
import { lookUpNotice } from '../../notices/look-up.ts';
import { appendAudit } from '../audit.ts';
import { countOf, formatCount, table } from '../../format/format.ts';
import { writeTime } from '../../format/time.ts';
import { idempotencyKey } from '../../contracts/send-options.ts';
import { noticeId } from '../../notices/notice-ref.ts';
import {
  cancelAnswer,
  noticeAnswer,
  type CancelReport,
  type NoticeRef,
  type NoticeView,
} from '../../notices/notice-state.ts';
import {
  CANCEL_TEXT,
  describeContacts,
  describeNotKept,
  describePending,
  nextStep,
} from '../notice-words.ts';
import { operation, type OperationCall, type OperationContext } from './operation.ts';

const id = { id: noticeId.describe('id of the notice, or of one of its jobs') };

const byKey = {
  idempotencyKey: idempotencyKey.meta({ flag: 'key' }).describe('the key with which it was sent'),
  apiKey: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('name of the API key that sent it. Default: none, or that of the caller'),
};

/**
 * The idempotency key under which the queue knows a sender's key: those of two API keys never meet, nor those of
 * the library. A key that is no valid one is left as it is: it is refused where notices are checked.
 *
 * @param apiKey name of the API key; undefined for the keys of the library
 */
export function scopedKey(apiKey: string | undefined, key: string): string {
  if (apiKey === undefined || !idempotencyKey.safeParse(key).success) return key;
  return `api-key ${createHash('sha256').update(`${apiKey}\n${key}`).digest('base64url')}`;
}

/**
 * The name of a sender's API key; undefined for other callers. It is the scope of the sender's idempotency keys: a
 * key that replaces another one has the same name, and so the same scope.
 */
export function senderOf(role: OperationCall['role'], name: string): string | undefined {
  return role === 'sender' ? name.replace(/^key:/, '') : undefined;
}

/** @throws InputError REQUEST_INVALID where a sender names another API key */
function keyAsked(
  { role, who }: OperationCall,
  asked: { readonly idempotencyKey: string; readonly apiKey?: string | undefined },
): NoticeRef {
  const own = senderOf(role, who);
  if (own !== undefined && asked.apiKey !== undefined && asked.apiKey !== own) {
    const problem = 'expected the name of your own API key, or nothing';
    throw new InputError('REQUEST_INVALID', [{ field: 'apiKey', problem }]);
  }
  return { idempotencyKey: scopedKey(own ?? asked.apiKey, asked.idempotencyKey) };
}

const shown = {
  answers: 'Its state, `not-kept` where there is none. It contains no phone number in full.',
  needs: 'any',
  perMinute: 'notices',
  output: noticeAnswer,
  text: describeNotice,
  isDone: ({ state }: NoticeView) => state !== 'not-kept',
  moves: ({ state }: NoticeView) => state === 'pending' || state === 'sending',
} as const;

export const showNotice = operation({
  ...shown,
  name: 'show',
  summary: 'The state of a single notice, and why it waits or failed.',
  path: '/api/v1/notices/:id',
  input: z.object(id),
  run: (context, input) => lookUpNotice(context, input.id),
});

export const showByKey = operation({
  ...shown,
  name: 'show by key',
  summary: 'The state of the single notice that was sent with an idempotency key.',
  path: '/api/v1/notices',
  input: z.object(byKey),
  run: (context, input, call) => lookUpNotice(context, keyAsked(call, input)),
});

const releaseKey = z
  .boolean()
  .optional()
  .describe('release its idempotency key, so that it can be sent anew with the same key');

const cancelled = {
  answers: 'Whether it is cancelled, or why not. Cancelling twice answers the same.',
  needs: 'sender-or-operator',
  why: 'over-http',
  perMinute: 'notices',
  output: cancelAnswer,
  text: ({ id: notice, answer, keyReleased }: CancelReport) => [
    `Notice ${notice} ${CANCEL_TEXT[answer]}.`.replace('  ', ' '),
    ...(keyReleased === true ? ['Its idempotency key is released.'] : []),
  ],
  isDone: ({ cancelled: done }: CancelReport) => done,
} as const;

async function cancel(
  context: OperationContext,
  ref: NoticeRef,
  release: boolean | undefined,
  call: OperationCall,
): Promise<CancelReport> {
  const report = await cancelWaiting(context.redis, context.keys, ref, { releaseKey: release });
  if (report.cancelled) {
    const as = report.keyReleased === true ? 'cancelled, key released' : 'cancelled';
    await appendAudit(context, call, { what: 'cancel', target: report.id, as });
  }
  return report;
}

export const cancelNotice = operation({
  ...cancelled,
  name: 'cancel one',
  summary: 'Cancels a single notice that waits.',
  path: '/api/v1/notices/:id/cancel',
  input: z.object({ ...id, releaseKey }),
  run: (context, input, call) => cancel(context, input.id, input.releaseKey, call),
});

export const cancelByKey = operation({
  ...cancelled,
  name: 'cancel by key',
  summary: 'Cancels the single notice that was sent with an idempotency key.',
  path: '/api/v1/notices/cancel',
  input: z.object({ ...byKey, releaseKey }),
  run: (context, input, call) => cancel(context, keyAsked(call, input), input.releaseKey, call),
});

/** It shows no phone number in full. */
function describeNotice(view: NoticeView, now: number): string[] {
  const { id, state, kept } = view;
  if (state === 'not-kept') {
    return [
      ...table([
        ['notice', id],
        ['state', state],
      ]),
      describeNotKept(kept),
    ];
  }
  const step = nextStep(view);
  return [
    ...table([['notice', id], ['state', stateText(view, now)], ...rowsOf(view, now)]),
    ...(step === undefined ? [] : [step]),
  ];
}

function stateText({ state, pending, confirmed }: NoticeView, now: number): string {
  if (pending !== undefined) return `${state}, ${describePending(pending, now)}`;
  return confirmed === false ? `${state}, but the answer could not be read completely` : state;
}

function rowsOf(view: NoticeView, now: number): string[][] {
  const { template, attempts, possiblySent, delivery, code, message, remedy } = view;
  const { traceIds, unknownAttempts = [] } = view;
  const { enqueuedAt, startedAt, endedAt, expiresAt } = view;
  const text = (name: string, value: string | undefined) =>
    value === undefined ? [] : [[name, value]];
  const time = (name: string, at: number | undefined) =>
    at === undefined ? [] : [[name, writeTime(at, now)]];
  return [
    ...text('template', template),
    ['contacts', describeContacts(view)],
    ...text('delivery', delivery),
    ['attempts', formatCount(attempts)],
    ...(possiblySent === 0 ? [] : [['possibly sent', countOf(possiblySent, 'time')]]),
    ...text('trace ids', traceIds?.join(' ')),
    ...text('code', code),
    ...text('message', message),
    ...text('remedy', remedy),
    ...time('queued', enqueuedAt),
    ...unknownAttempts.map((one) => [
      'attempt',
      `${writeTime(one.at, now)}, possibly sent, ${one.code}`,
    ]),
    ...time('started', startedAt),
    ...time('ended', endedAt),
    ...time('expires', expiresAt),
  ];
}
