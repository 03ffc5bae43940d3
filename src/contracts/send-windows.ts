/** When notices of some templates may be sent. */
interface SendWindow {
  /** Of the template codes; `*` stands for any characters. */
  readonly pattern: string;
  readonly matches: RegExp;
  /** Minutes of the day, from and to; one whose end is not after its start goes over midnight. */
  readonly spans: readonly (readonly [from: number, to: number])[];
  readonly zone: string;
  /** What was found last, and until when that holds. */
  known?: { readonly from: number; readonly until: number; readonly closed?: ClosedHours };
}

/** Sending hours that are closed. */
export interface ClosedHours {
  readonly opensAt: number;
  /** That time where the hours count: `08:00 (Asia/Seoul)`. */
  readonly words: string;
}

const MINUTE_MS = 60_000;
const DAY = 24 * 60;

/** A window is open every day; a clock that changes can skip it once. */
const LONGEST_MS = 3 * DAY * MINUTE_MS;

const ENTRY = /^([^\s=;]{1,100})=(\S{1,200})\s+([A-Za-z][\w+/-]{0,60})$/;
const SPAN = /^([01]\d|2[0-3]):([0-5]\d)-(?:([01]\d|2[0-3]):([0-5]\d)|24:00)$/;

/** The first minute from now on at which a clock of the zone shows a time of the window, whatever it skips or repeats. */
function hoursOf({ spans, zone }: SendWindow, now: number): ClosedHours | undefined {
  const clock = clockOf(zone);
  const isOpen = (at: number) => {
    const minute = minuteOfDay(clock.format(at));
    return spans.some(([from, to]) =>
      from < to ? minute >= from && minute < to : minute >= from || minute < to,
    );
  };
  if (isOpen(now)) return undefined;
  let opensAt = minuteOf(now) + MINUTE_MS;
  const last = opensAt + LONGEST_MS;
  while (!isOpen(opensAt) && opensAt < last) opensAt += MINUTE_MS;
  return { opensAt, words: `${clock.format(opensAt)} (${zone})` };
}

const minuteOf = (at: number) => Math.floor(at / MINUTE_MS) * MINUTE_MS;

const minuteOfDay = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));

const clockOf = (timeZone: string) =>
  new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });

function windowOf(entry: string): SendWindow | undefined {
  const [, pattern = '', hours = '', zone = ''] = ENTRY.exec(entry) ?? [];
  const spans = hours.split(',').map(spanOf);
  const known = spans.filter((span) => span !== undefined);
  if (known.length < spans.length) return undefined;
  try {
    clockOf(zone);
  } catch {
    return undefined;
  }
  const escaped = pattern.replace(/[$()+.?[\\\]^{|}]/g, '\\$&').replace(/\*+/g, '.*');
  return { pattern, matches: new RegExp(`^${escaped}$`, 'su'), spans: known, zone };
}

function spanOf(text: string): SendWindow['spans'][number] | undefined {
  const [, fromHour, fromMinute, toHour, toMinute] = SPAN.exec(text) ?? [];
  if (fromHour === undefined || fromMinute === undefined) return undefined;
  const from = minuteOfDay(`${fromHour}:${fromMinute}`);
  const to = toHour === undefined ? DAY : minuteOfDay(`${toHour}:${toMinute ?? ''}`);
  return from === to ? undefined : [from, to];
}

let last: { readonly text: string; readonly windows: readonly SendWindow[] } | undefined;

/**
 * Sending hours: `PROMO_*=08:00-21:00 Asia/Seoul; NEWS=09:00-12:00,13:00-18:00 Asia/Seoul`.
 *
 * @param text as a worker has stored it
 * @returns undefined without any, and where this version cannot read them
 */
export function windowsOf(text: string): readonly SendWindow[] | undefined {
  if (last?.text === text) return last.windows;
  const entries = text.split(';').map((entry) => entry.trim());
  const windows = entries.filter((entry) => entry !== '').map(windowOf);
  const known = windows.filter((window) => window !== undefined);
  if (known.length === 0 || known.length < windows.length) return undefined;
  last = { text, windows: known };
  return known;
}

/**
 * The sending hours of a template; undefined while it may be sent. Of several entries that match it the first counts; one
 * that none matches is sent at any time.
 *
 * @param text SEND_WINDOWS, empty without any
 */
export function closedHours(text: string, template: string, now: number): ClosedHours | undefined {
  if (text === '') return undefined;
  const window = windowsOf(text)?.find(({ matches }) => matches.test(template));
  return window && closedAt(window, now);
}

/** The patterns whose sending hours are closed. */
export function allClosed(text: string, now: number): { pattern: string; closed: ClosedHours }[] {
  return (windowsOf(text) ?? []).flatMap((window) => {
    const closed = closedAt(window, now);
    return closed === undefined ? [] : [{ pattern: window.pattern, closed }];
  });
}

function closedAt(window: SendWindow, now: number): ClosedHours | undefined {
  const { known } = window;
  if (known !== undefined && now >= known.from && now < known.until) return known.closed;
  const closed = hoursOf(window, now);
  const until = closed?.opensAt ?? minuteOf(now) + MINUTE_MS;
  window.known = { from: now, until, ...(closed === undefined ? {} : { closed }) };
  return closed;
}
