import { Ledger } from '../../src/batch/ledger/ledger.ts';
import type { NoticeSource } from '../../src/notices/read-job.ts';
import {
  decide,
  type DecideReport,
  type DecideSelect,
  type Decision,
} from '../../src/ops/decide.ts';
import { noticesIn, type FailedNotice, type EntrySelect } from '../../src/ops/entries.ts';

export type UnknownNotice = Omit<FailedNotice, 'text' | 'data'>;

/** The single notices whose outcome is unknown and that match, the oldest first. */
export async function unknownNotices(
  source: NoticeSource,
  select: EntrySelect = {},
): Promise<UnknownNotice[]> {
  const found: UnknownNotice[] = [];
  const all = noticesIn(source, { ...select, state: 'unknown' }, { oldestFirst: true });
  for await (const page of all) {
    found.push(...page.map(({ text: _text, data: _data, ...notice }) => notice));
  }
  return found;
}

/** Who decides in tests, and why. */
export const WHO = { who: 'kim@desk', why: 'asked the service' };

/** Decides on single notices and lists. */
export const decideOn = (
  { redis, keys }: Pick<NoticeSource, 'redis' | 'keys'>,
  select: DecideSelect,
  decision: Pick<Decision, 'as'> & Partial<Decision>,
): Promise<DecideReport> =>
  decide({ redis, keys, ledger: new Ledger(redis, keys) }, select, { ...WHO, ...decision });
