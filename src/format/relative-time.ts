import { formatDuration } from './format.ts';

/** A time relative to now, with the time itself: one is never shown without the other. */
export interface RelativeTime {
  /** `5 min ago`, `in 3 h`, or as the caller says it: `the oldest for 90 s`. */
  readonly words: string;
  /** The day in UTC where it is not the day of now: `2026-01-31 `; empty otherwise. */
  readonly day: string;
  /** The time of day in UTC: `09:30:00`. */
  readonly time: string;
  /** ISO 8601. */
  readonly exact: string;
}

/** Puts the time between now and then into words. Default: `5 min ago`, `in 3 h`. */
export type SayTime = (span: string) => string;

/**
 * A time relative to now. Pages show it with `moment` (elements.ts), commands with {@link writeTime}.
 *
 * @param at milliseconds since the epoch; likewise now
 */
export function relativeTime(at: number, now: number, say?: SayTime): RelativeTime {
  const exact = new Date(at).toISOString();
  const [day = '', time = ''] = exact.split('T');
  const isToday = exact.slice(0, 10) === new Date(now).toISOString().slice(0, 10);
  const ahead = at > now;
  const span = formatDuration(Math.abs(at - now));
  const words = say?.(span) ?? (ahead ? `in ${span}` : `${span} ago`);
  return { words, day: isToday ? '' : `${day} `, time: time.slice(0, 8), exact };
}

/** A time relative to now in one line of text: `5 min ago (09:30:00 UTC)`. */
export function writeTime(at: number, now: number, say?: SayTime): string {
  const { words, day, time } = relativeTime(at, now, say);
  return `${words} (${day}${time} UTC)`;
}
