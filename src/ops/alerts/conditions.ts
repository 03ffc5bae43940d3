/**
 * What was told of a condition, which is on or off.
 *
 * - never told: nothing is kept. → told on, as soon as it is on.
 * - told on → told off, as soon as it is off.
 * - told off → told on, when it is on, but not before the quiet period has passed since it was last
 *   told on; what comes and goes meanwhile is counted. → forgotten, when it is off by then.
 *
 * So a condition that flaps is told on once in a quiet period, its end is told at once, and what is
 * true at last is always told.
 */
export interface ReportedCondition {
  readonly on: boolean;
  /** When it was last told on. Milliseconds since the epoch, like all times here. */
  readonly toldAt: number;
  /** When it began, of the time it was last told on. */
  readonly since: number;
  /** Whether it was on at the last look, and how often it has come untold. */
  readonly seenOn: boolean;
  readonly untold: number;
}

/** What a look at a condition leads to. */
export interface Verdict {
  /** What is to be told, if anything. */
  readonly tell?: 'on' | 'off';
  /** How often it came before, untold. */
  readonly untold: number;
  /** What is kept; undefined to forget it. */
  readonly told: ReportedCondition | undefined;
}

/**
 * @param since when it began, where it is on and that is known
 */
export function judgeCondition(
  told: ReportedCondition | undefined,
  on: boolean,
  now: number,
  quietMs: number,
  since = now,
): Verdict {
  if (told === undefined) {
    return on ? begin(now, since, 0) : { untold: 0, told: undefined };
  }
  const quiet = now - told.toldAt < quietMs;
  if (told.on) {
    if (on) return { untold: 0, told };
    return { tell: 'off', untold: 0, told: { ...told, on: false, seenOn: false, untold: 0 } };
  }
  if (on && !quiet) return begin(now, since, told.untold);
  if (!on && !quiet) return { untold: 0, told: undefined };
  const untold = told.untold + (on && !told.seenOn ? 1 : 0);
  return { untold, told: { ...told, seenOn: on, untold } };
}

function begin(now: number, since: number, untold: number): Verdict {
  return { tell: 'on', untold, told: { on: true, toldAt: now, since, seenOn: true, untold: 0 } };
}
