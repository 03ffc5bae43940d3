import { z } from 'zod';
import { FAILED_STATES, groupsOf, type FailureGroup } from '../../batch/failures/failures.ts';
import { InputError } from '../../contracts/errors.ts';
import { countOf, formatCount, table } from '../../format/format.ts';
import { writeTime } from '../../format/time.ts';
import { countEnded } from '../../notices/ended.ts';
import { noticeAnswer } from '../../notices/notice-state.ts';
import { endedView } from '../../notices/look-up.ts';
import { settleAgain } from '../../notices/send-again.ts';
import { translated } from '../../redis/failure.ts';
import { failureGroup, requireBatch } from '../answers/batch.ts';
import { count } from '../../contracts/answer.ts';
import { auditSearch, type Actor } from '../audit.ts';
import {
  batchesIn,
  decidable,
  groupsIn,
  noticesIn,
  selectFields,
  statesIn,
  type EntrySelect,
  type EntrySource,
} from '../entries.ts';
import { writeEntries } from '../entries-csv.ts';
import { decideSteps } from '../notice-words.ts';
import { oneOf, whole } from './fields.ts';
import { operation, redisNow, type Answer, type OperationContext } from './operation.ts';

/** What a list over HTTP reads: the newest; a preview reads all. */
const MOST_NOTICES = 500;
const MOST_BATCHES = 200;

/**
 * Reads what selects. A search for a number is recorded: what it selects tells what the number was sent.
 *
 * @throws InputError REQUEST_INVALID for single notices of a batch; NoticeQueueError NOT_FOUND
 */
export async function readSelect<Fields extends EntrySelect>(
  context: OperationContext,
  fields: Fields,
  actor: Actor,
) {
  const { batch, number: digits } = fields;
  const other = (['single', 'ids', 'possiblySent'] as const).find((name) => fields[name]);
  if (batch !== undefined && other !== undefined) {
    const problem = 'expected without batch';
    throw new InputError('REQUEST_INVALID', [{ field: other, problem }]);
  }
  if (batch !== undefined) await requireBatch(context, batch);
  if (digits !== undefined) await auditSearch(context, actor, digits);
  return fields;
}

const list = z.object({
  at: z
    .int()
    .describe('when it was read: as `before` of a decision it leaves out what failed later'),
  contacts: count.describe('of all that was read'),
  groups: z
    .array(failureGroup)
    .describe('single notices, or contacts of the batch: the largest group first'),
  notices: z.array(noticeAnswer).describe('single notices, the newest'),
  matching: count.describe('single notices that match, of those that were read'),
  batches: z
    .array(
      z.object({
        batch: z.string(),
        template: z.string(),
        contacts: count,
        codes: z.array(z.string()).describe('the one with most contacts first'),
      }),
    )
    .describe('batches with unknown contacts that match; none where one is selected'),
  complete: z.boolean().describe('false where only the newest were read'),
});

export type FailureList = Answer<z.output<typeof list>>;

/** What matches. @param most single notices and batches that are read; bounded so, its cost does not grow with them */
export async function readFailures(
  context: EntrySource,
  selected: EntrySelect,
  limit: number,
  isBounded = true,
): Promise<FailureList> {
  const { redis, keys } = context;
  // A decision does so first: it acts on what is counted here.
  if (!isBounded) await translated(settleAgain(redis, keys));
  const at = await redisNow(redis);
  const found: FailureGroup[] = [];
  const notices: FailureList['notices'][number][] = [];
  const most = isBounded ? MOST_NOTICES : undefined;
  for await (const page of noticesIn(context, selected, { most })) {
    for (const one of page) {
      const { state, code: of, contacts, message = '' } = one;
      found.push({ state, code: of, contacts, message });
      if (notices.length < limit) notices.push(endedView(one));
    }
  }
  const matching = found.length;
  const stored = isBounded ? await countEnded(redis, keys, statesIn(selected)) : 0;
  let complete = stored <= MOST_NOTICES || (selected.batch ?? selected.ids) !== undefined;
  const batches: FailureList['batches'][number][] = [];
  let read = 0;
  for await (const batch of batchesIn(context, selected)) {
    if (isBounded && read++ === MOST_BATCHES) {
      complete = false;
      break;
    }
    const groups = await groupsIn(context, batch, selected);
    if (selected.batch !== undefined) found.push(...groups);
    else if (groups.length > 0) {
      const { id, templateCode } = batch;
      const codes = groups.map((group) => group.code);
      batches.push({ batch: id, template: templateCode, contacts: contactsIn(groups), codes });
    }
  }
  const contacts = contactsIn([...found, ...batches]);
  return { at, contacts, groups: groupsOf(found), notices, matching, batches, complete };
}

const contactsIn = (found: readonly { readonly contacts: number }[]) =>
  found.reduce((sum, one) => sum + one.contacts, 0);

export function describeGroups(groups: readonly Answer<FailureGroup>[]): string[] {
  if (groups.length === 0) return [];
  return [
    'Not accepted:',
    ...table(
      groups.map(({ state, code: reason, contacts, message }) => [
        `  ${state}`,
        reason,
        formatCount(contacts),
        message,
      ]),
    ),
  ];
}

export function describeList(
  { groups, notices, matching, batches }: FailureList,
  now: number,
): string[] {
  const ofNotices = table([
    ['SINCE', 'NOTICE', 'TEMPLATE', 'CONTACTS', 'STATE', 'CODE', 'POSSIBLY SENT', 'TRACE IDS'],
    ...notices.map((one) => [
      writeTime(one.endedAt ?? now, now),
      one.id,
      one.template ?? '',
      formatCount(one.contacts),
      one.state,
      one.code ?? '',
      one.possiblySent === 0 ? '' : countOf(one.possiblySent, 'time'),
      one.traceIds?.join(' ') ?? '',
    ]),
  ]);
  const ofBatches = table([
    ['BATCH', 'TEMPLATE', 'UNKNOWN', 'CODES'],
    ...batches.map(({ batch, template: name, contacts, codes }) => [
      batch,
      name,
      formatCount(contacts),
      codes.join(', '),
    ]),
  ]);
  return [
    ...describeGroups(groups),
    ...(notices.length === 0 ? [] : ['', ...ofNotices]),
    ...(matching > notices.length
      ? [`The newest ${notices.length} of ${formatCount(matching)} notices.`]
      : []),
    ...(batches.length === 0 ? [] : ['', ...ofBatches]),
  ];
}

export const NO_BATCH = { 404: 'There is no such batch.' };

export const failures = operation({
  name: 'failures',
  help: { group: 'Not accepted', example: 'notices failures spring --state rejected --csv' },
  summary: 'What was not accepted and why: single notices, contacts of a batch, unknown outcomes.',
  answers: `By state and code, the newest notices, and the newest batches with unknown ones, ${MOST_BATCHES} at most.`,
  needs: 'viewer',
  path: '/api/v1/failures',
  perMinute: 120,
  args: ['batch'],
  input: z.object({
    ...selectFields,
    state: oneOf(FAILED_STATES)
      .optional()
      .describe(
        'only in this state. Default: rejected and unknown; of a batch all. Suppressed: single notices',
      ),
    limit: whole(1, 1_000_000)
      .default(100)
      .describe(`most single notices of the answer; over HTTP at most ${MOST_NOTICES}`),
  }),
  output: list,
  problems: NO_BATCH,
  run: async (context, { limit, ...fields }, call) =>
    readFailures(context, await readSelect(context, fields, call), limit, call.bounded === true),
  text: (found, now, selected) => {
    if (found.contacts === 0) return ['No notice or contact that matches failed.'];
    const states = [
      ...found.groups.map(({ state }) => state),
      ...found.batches.map(() => 'unknown'),
    ];
    return [...describeList(found, now), ...decideSteps(states, selected)];
  },
  csv: {
    summary:
      'Their contacts, as a CSV list that can be imported again, with trace ids to look them up at the service; unknown ones only where `state` says so. It contains phone numbers; each download is recorded in the audit stream.',
    open: async (context, { limit: _limit, ...fields }, actor) => {
      const selected = await readSelect(context, fields, actor);
      const { batch, code: reason, template: name } = selected;
      const { state = batch === undefined ? 'rejected' : 'all but unknown' } = selected;
      const as = [state, reason, name].filter((part) => part !== undefined).join(' ');
      const target = batch === undefined ? 'failures' : `batch ${batch}`;
      return {
        entry: { what: 'download', target, as },
        fileName: batch === undefined ? 'failures.csv' : `${batch}-failures.csv`,
        produce: (write) => writeEntries(context, selected, write),
      };
    },
  },
});

export const previewFailures = operation({
  name: 'failures preview',
  summary: 'All that a decision with the same filter and state would decide; changes nothing.',
  answers: 'The preview.',
  needs: 'viewer',
  hidesInput: true,
  path: '/api/v1/failures/preview',
  perMinute: 60,
  input: failures.input.extend({ state: decidable }),
  output: list,
  problems: NO_BATCH,
  run: async (context, { limit, ...fields }, call) => {
    const most = Math.min(limit, MOST_NOTICES);
    return readFailures(context, await readSelect(context, fields, call), most, false);
  },
});
