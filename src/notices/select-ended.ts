import { formsOf } from '../format/country.ts';
import { contactsOfJob } from '../payload/sealed-job.ts';
import { redisFailure } from '../redis/failure.ts';
import {
  endedNotices,
  readEnded,
  type EndedNotice,
  type EndedRange,
  type EndedState,
} from './ended.ts';
import { endedView } from './look-up.ts';
import type { NoticeView } from './notice-state.ts';
import type { NoticeSource } from './read-job.ts';

export const FAILED_NOTICE_STATES = ['rejected', 'unknown'] as const;

/** Selects failed notices; a field that is undefined matches all. */
export interface FailedFilter {
  readonly state?: (typeof FAILED_NOTICE_STATES)[number] | undefined;
  /** The service's code, or one of ours. */
  readonly code?: string | undefined;
  readonly template?: string | undefined;
  /** Only what ended before this time: milliseconds since the epoch. */
  readonly before?: number | undefined;
  /** Only what ended at this time or later. */
  readonly since?: number | undefined;
}

/** Selects notices that were not accepted. */
export interface EndedSelect extends Omit<FailedFilter, 'state'> {
  /** Default: {@link FAILED_NOTICE_STATES} */
  readonly state?: EndedState | undefined;
  readonly ids?: readonly string[] | undefined;
  /** Only with this phone number: digits only. */
  readonly number?: string | undefined;
}

export type EndedHead = Omit<EndedNotice, 'text' | 'data'>;

/**
 * Yields the notices that match, in pages; named ones in the order of their ids, others the newest first. What ends
 * meanwhile is not among them.
 * @param range how many are read at most, whether they match or not, and from which end
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED, or PAYLOAD_UNREADABLE where they are selected by number
 */
async function* selectEnded(
  { redis, keys, sealing }: NoticeSource,
  select: EndedSelect,
  range: Pick<EndedRange, 'most' | 'oldestFirst'> = {},
): AsyncGenerator<readonly EndedNotice[]> {
  const { state, ids, number, before, since } = select;
  const forms = number === undefined ? undefined : formsOf(number);
  const hasNumber = ({ id, data }: EndedNotice) =>
    forms === undefined ||
    contactsOfJob(data, id, sealing).some(({ contact }) => forms.includes(contact));
  try {
    if (ids !== undefined) {
      const named = await readEnded(redis, keys, [...new Set(ids)]);
      yield named.filter((one) => matchesEnded(select, one) && hasNumber(one));
      return;
    }
    const states = state === undefined ? FAILED_NOTICE_STATES : [state];
    for await (const page of endedNotices(redis, keys, states, { before, since, ...range })) {
      yield page.filter((one) => matchesEnded(select, one) && hasNumber(one));
    }
  } catch (error) {
    throw redisFailure(error);
  }
}

/** Whether a selection matches a notice, its number left aside. */
function matchesEnded(
  { state, code, template, before = Infinity, since = 0 }: EndedSelect,
  ended: EndedNotice,
): boolean {
  const isState = state === undefined ? isFailed(ended) : ended.state === state;
  return (
    isState &&
    (code === undefined || ended.code === code) &&
    (template === undefined || ended.template === template) &&
    ended.at < before &&
    ended.at >= since
  );
}

const isFailed = ({ state }: EndedNotice) => state === 'rejected' || state === 'unknown';

export async function allEnded(
  source: NoticeSource,
  select: EndedSelect,
  range?: Pick<EndedRange, 'most' | 'oldestFirst'>,
): Promise<EndedHead[]> {
  const found: EndedHead[] = [];
  for await (const page of selectEnded(source, select, range)) {
    found.push(...page.map(({ text: _text, data: _data, ...head }) => head));
  }
  return found;
}

/** Failed notices, the newest first. @param most how many are read at most. Default: all */
export async function failedNotices(
  source: NoticeSource,
  filter: FailedFilter,
  most?: number,
): Promise<NoticeView[]> {
  const found: NoticeView[] = [];
  for await (const page of selectEnded(source, filter, { most })) {
    found.push(...page.map((one) => endedView(one)));
  }
  return found;
}

/** Failed notices with the same state and code. */
export interface FailedGroup {
  readonly state: NoticeView['state'];
  readonly code: string;
  readonly notices: number;
  readonly contacts: number;
  /** The service's message for one of them, with phone numbers masked. */
  readonly message: string;
}

export function groupFailed(
  found: readonly Pick<NoticeView, 'state' | 'code' | 'message' | 'contacts'>[],
): FailedGroup[] {
  const groups = new Map<string, FailedGroup>();
  for (const { state, code = '', message = '', contacts } of found) {
    const name = `${state} ${code}`;
    const { notices, ...sum } = groups.get(name) ?? { notices: 0, contacts: 0, message };
    groups.set(name, {
      state,
      code,
      notices: notices + 1,
      contacts: sum.contacts + contacts,
      message: sum.message,
    });
  }
  return [...groups.values()].sort((a, b) => b.notices - a.notices);
}
