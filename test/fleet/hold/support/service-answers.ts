import type { SendAnswer } from '../../../../src/service/response/send-answer.ts';

/** What the service answers to the jobs that it does not take. */
export type Trouble = keyof typeof ANSWERS;

const WHOLE = { requests: 1, durationMs: 1, refused: [], body: 'json', tokenId: 'T' } as const;
const ANSWERED = { ...WHOLE, stage: 'answered' } as const;
export const TAKEN: SendAnswer = { ...ANSWERED, status: 200 };
export const ANSWERS = {
  'a refusal': { ...ANSWERED, status: 403, code: 'SENDER_NOT_YOURS' },
  'a page': { ...ANSWERED, status: 403, body: 'html' },
  'no credit': { ...ANSWERED, status: 402 },
  'no connection': { ...WHOLE, stage: 'not-sent', failure: 'refused-connection' },
  'a bad certificate': { ...WHOLE, stage: 'not-sent', failure: 'certificate' },
  'an error': { ...ANSWERED, status: 500 },
  'no answer': { ...WHOLE, stage: 'sent' },
  'an error with Retry-After': { ...ANSWERED, status: 503, retryAfterMs: 3_000 },
  'too many requests': { ...ANSWERED, status: 429, retryAfterMs: 3_000 },
} as const satisfies Readonly<Record<string, SendAnswer>>;
