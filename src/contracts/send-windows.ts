/** When notices of some templates may be sent. */
interface SendWindow {
  /** Of the template codes; `*` stands for any characters. */
  readonly pattern: string;
  readonly matches: RegExp;
  /** Minutes of the day, from and to; one whose end is not after its start goes over midnight. */
  readonly spans: readonly (readonly [from: number, to: number])[];
  /** An IANA time zone. */
  readonly zone: string;
}

/** Sending hours that are closed. */
export interface ClosedHours {
  /** Milliseconds since the epoch. */
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

/**
 * Sending hours: `PROMO_*=08:00-21:00 Asia/Seoul; NEWS=09:00-12:00,13:00-18:00 Asia/Seoul`. Of several entries that
 * match a template the first counts; one that none matches is sent at any time.
 */
export class SendWindows {
  readonly text: string;
  readonly #windows: readonly SendWindow[];
  /** What was found of each window last, and until when that holds. */
  readonly #known = new Map<SendWindow, { from: number; until: number; closed?: ClosedHours }>();

  /** @throws RangeError that names the entry */
  constructor(text: string) {
    this.text = text;
    const entries = text.split(';').map((entry) => entry.trim());
    this.#windows = entries.filter((entry) => entry !== '').map(windowOf);
    if (this.#windows.length === 0) throw new RangeError('no entry');
  }

  /** The patterns, each with its hours where they are closed. */
  all(now: number): { readonly pattern: string; readonly closed: ClosedHours | undefined }[] {
    return this.#windows.map((one) => ({ pattern: one.pattern, closed: this.#closed(one, now) }));
  }

  /**
   * The sending hours of a template; undefined while it may be sent.
   *
   * @param now milliseconds since the epoch
   */
  closed(template: string, now: number): ClosedHours | undefined {
    const window = this.#windows.find(({ matches }) => matches.test(template));
    return window && this.#closed(window, now);
  }

  #closed(window: SendWindow, now: number): ClosedHours | undefined {
    const known = this.#known.get(window);
    if (known !== undefined && now >= known.from && now < known.until) return known.closed;
    const closed = hoursOf(window, now);
    const until = closed?.opensAt ?? minuteOf(now) + MINUTE_MS;
    this.#known.set(window, { from: now, until, ...(closed === undefined ? {} : { closed }) });
    return closed;
  }
}

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

function windowOf(entry: string): SendWindow {
  const [, pattern = '', hours = '', zone = ''] = ENTRY.exec(entry) ?? [];
  const spans = hours.split(',').map(spanOf);
  const known = spans.flatMap((span) => (span === undefined ? [] : [span]));
  if (known.length < spans.length) throw new RangeError(`"${entry}"`);
  try {
    clockOf(zone);
  } catch {
    throw new RangeError(`"${entry}", whose time zone is unknown`);
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

let last: SendWindows | undefined;

/**
 * The sending hours of a template; undefined while it may be sent.
 *
 * @param text SEND_WINDOWS, empty without any
 */
export function closedHours(text: string, template: string, now: number): ClosedHours | undefined {
  return windowsOf(text)?.closed(template, now);
}

/** The patterns whose sending hours are closed. */
export function allClosed(text: string, now: number): { pattern: string; closed: ClosedHours }[] {
  const all = windowsOf(text)?.all(now) ?? [];
  return all.flatMap(({ pattern, closed }) => (closed === undefined ? [] : [{ pattern, closed }]));
}

/** Sending hours as a worker has stored them; undefined without any, and where this version cannot read them. */
export function windowsOf(text: string): SendWindows | undefined {
  if (text === '') return undefined;
  if (last?.text === text) return last;
  try {
    return (last = new SendWindows(text));
  } catch {
    return undefined;
  }
}
