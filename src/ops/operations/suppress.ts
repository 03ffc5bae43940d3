import { z } from 'zod';
import { checkListed } from '../../batch/source/check-number.ts';
import { count, time } from '../../contracts/answer.ts';
import { SUPPRESS_REASONS } from '../../contracts/suppression.ts';
import { formatCount } from '../../format/format.ts';
import { writeTime } from '../../format/time.ts';
import { DoNotSendList } from '../../suppression/do-not-send.ts';
import { appendAudit, auditSearch, type Actor } from '../audit.ts';
import { maskNumber } from '../mask-contact.ts';
import { oneOf, phoneNumber } from './fields.ts';
import { operation, type OperationContext } from './operation.ts';

const number = phoneNumber(checkListed, 'in any notation, with a code of a country or without');

const listed = count.describe('numbers on the list');

const listOf = ({ redis, keys, sealing }: OperationContext) =>
  new DoNotSendList(redis, keys, sealing);

const record = (context: OperationContext, actor: Actor, digits: string, as: string) =>
  appendAudit(context, actor, { what: 'suppress', target: `number ${maskNumber(digits)}`, as });

const stands = (count: number) => `The do-not-send list has ${formatCount(count)}.`;

export const addSuppression = operation({
  name: 'suppress add',
  summary: 'Puts a phone number on the do-not-send list, such as for an opt-out link.',
  answers: 'Whether it was put there. One that is on the list keeps its reason and time.',
  needs: 'sender-or-operator',
  why: 'may',
  perMinute: 'notices',
  path: '/api/v1/suppress/add',
  args: ['number'],
  input: z.object({
    number,
    reason: oneOf(SUPPRESS_REASONS).default('opt-out').describe('why nothing may be sent to it'),
  }),
  output: z.object({
    added: z.boolean(),
    number: z.string().describe('as it was taken, masked'),
    listed,
  }),
  run: async (context, { number: digits, reason }, call) => {
    const list = listOf(context);
    const added = (await list.add([digits], reason)) === 1;
    if (added) await record(context, call, digits, reason);
    return { added, number: maskNumber(digits), listed: await list.count() };
  },
  text: ({ added, number: taken, listed: all }) => [
    added ? `Nothing more is sent to ${taken}.` : `${taken} was on the list.`,
    stands(all),
  ],
});

export const removeSuppression = operation({
  name: 'suppress remove',
  summary: 'Takes a phone number off the do-not-send list.',
  answers: 'Whether it was on the list.',
  needs: 'operator',
  why: 'over-http',
  path: '/api/v1/suppress/remove',
  args: ['number'],
  input: z.object({ number }),
  output: z.object({ removed: z.boolean(), listed }),
  run: async (context, { number: digits }, call) => {
    const list = listOf(context);
    const removed = (await list.remove([digits])) === 1;
    if (removed) await record(context, call, digits, 'removed');
    return { removed, listed: await list.count() };
  },
  text: ({ removed, listed: all }) => [
    removed ? 'What is sent to this number from now on goes.' : 'The number is not on the list.',
    stands(all),
  ],
  isDone: ({ removed }) => removed,
});

export const checkSuppression = operation({
  name: 'suppress check',
  summary: 'Whether a phone number is on the do-not-send list, why and since when.',
  answers: 'The entry, without the number.',
  needs: 'viewer',
  hidesInput: true,
  path: '/api/v1/suppress/check',
  args: ['number'],
  input: z.object({ number }),
  output: z.object({
    suppressed: z.boolean(),
    reason: oneOf(SUPPRESS_REASONS).exactOptional(),
    since: time.exactOptional(),
    listed,
  }),
  run: async (context, { number: digits }, call) => {
    const list = listOf(context);
    await auditSearch(context, call, digits);
    const entry = (await list.find([digits]))?.get(0);
    return { suppressed: entry !== undefined, ...entry, listed: await list.count() };
  },
  text: ({ reason, since, listed: all }, now) => [
    reason === undefined || since === undefined
      ? 'The number is not on the list.'
      : `Nothing is sent to this number: ${reason}, ${writeTime(since, now)}.`,
    stands(all),
  ],
  isDone: ({ suppressed }) => suppressed,
});
