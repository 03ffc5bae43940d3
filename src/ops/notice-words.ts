import type {
  CancelAnswer,
  NoticeView,
  PendingReason,
  Retention,
} from '../notices/notice-state.ts';
import { formatCount, formatDuration, shellWord } from '../format/format.ts';
import { writeTime } from '../format/time.ts';
import type { EntrySelect } from './entries.ts';

/** Why a notice waits, in words: the same in commands and on pages. */
export function describePending(pending: PendingReason, now: number): string {
  switch (pending.reason) {
    case 'delayed':
      return `delayed, due ${writeTime(pending.until, now)}`;
    case 'sending-hours':
      return `waiting for ${pending.opens}: the sending hours of its template are closed`;
    case 'held':
      return `held (${pending.hold}): ${pending.meaning}`;
    case 'rate-limited':
      return 'rate-limited: it waits for its turn within the rate limit';
    case 'waiting':
      return 'waiting for a free worker';
  }
}

/** Why nothing is known under an id, and how long notices are kept. */
export function describeNotKept(kept: Retention | undefined): string {
  const first = 'Nothing is kept under this id: it never existed, or was deleted after its end.';
  if (kept === undefined) return first;
  const { acceptedMs, acceptedCount, failedMs } = kept;
  return (
    `${first} Accepted, expired and cancelled notices are kept for ${formatDuration(acceptedMs)} ` +
    `(KEEP_ACCEPTED_MS), the last ${formatCount(acceptedCount)} at most; ` +
    `rejected and unknown ones for ${formatDuration(failedMs)} (KEEP_FAILED_MS).`
  );
}

/** How many contacts a notice has, and how many were left out. */
export function describeContacts({
  contacts,
  suppressed = 0,
}: Pick<NoticeView, 'contacts' | 'suppressed'>): string {
  const count = formatCount(contacts);
  return suppressed === 0
    ? count
    : `${count}, and ${formatCount(suppressed)} left out: on the do-not-send list`;
}

/** Why the state of a found notice may not be that of the number. */
export const SOME_LEFT_OUT = 'no: contacts of it were left out';

/** What can be done about a notice in its state, as a command; undefined where nothing has to be done. */
export function nextStep({ id, state, pending }: NoticeView): string | undefined {
  if (state === 'unknown') {
    return `Check it at the service, then run "notices decide ${shellWord(id)} --as accepted" (or --as discard, --as resend --state unknown).`;
  }
  if (pending?.reason === 'held') return `To do: ${pending.remedy}.`;
  return undefined;
}

/** What can be done about what was listed, as commands that select the same; a phone number is not repeated. */
export function decideSteps(
  states: readonly string[],
  select: Omit<EntrySelect, 'state'>,
): string[] {
  const { ids = [], batch, single, possiblySent, code, template, ...others } = select;
  const { before, since, number } = others;
  const flag = (name: string, value: string | undefined) =>
    value === undefined ? [] : [`--${name} ${shellWord(value)}`];
  const time = (at: number | undefined) =>
    at === undefined ? undefined : new Date(at).toISOString();
  const flags = [
    ...ids.map(shellWord),
    ...flag('batch', batch),
    ...(single === true ? ['--single'] : []),
    ...(possiblySent === true ? ['--possibly-sent'] : []),
    ...flag('code', code),
    ...flag('template', template),
    ...flag('before', time(before)),
    ...flag('since', time(since)),
    ...flag('number', number === undefined ? undefined : '-'),
  ];
  const command = (words: string) => `"${['notices decide', words, ...flags].join(' ')}"`;
  return [
    ...(states.includes('rejected')
      ? [
          `Send the rejected ones again: ${command('--as resend --state rejected')}`,
          `Give them up: ${command('--as discard --state rejected')}`,
        ]
      : []),
    ...(states.includes('unknown')
      ? [
          `Check unknown ones at the service first. Settle those that it has: ${command('--as accepted --state unknown')}`,
          'The others: --as resend, which may send them twice, or --as discard in its place.',
        ]
      : []),
    'Add --csv to export their contacts, with trace ids; unknown ones with --state unknown.',
  ];
}

/** The answer to a request to cancel, after the id of the notice. */
export const CANCEL_TEXT: Readonly<Record<CancelAnswer, string>> = {
  cancelled: 'is cancelled: it was not sent and will not be',
  sending: 'is not cancelled: a worker has it, so that it may be sent at any moment',
  'possibly-sent':
    'is not cancelled: an earlier attempt may have been accepted, so that it may have arrived',
  accepted: 'is not cancelled: it was accepted',
  rejected: 'is not cancelled: it was rejected, and is not sent again by itself',
  unknown:
    'is not cancelled: it was possibly sent; "notices failures --state unknown" says how to decide',
  expired: 'is not cancelled: it has expired, and is not sent',
  suppressed: 'is not cancelled: its number is on the do-not-send list, and it is not sent',
  'not-kept': 'is not cancelled: nothing is kept under this id or key',
};
