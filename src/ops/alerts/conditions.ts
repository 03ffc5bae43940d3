/**
 * What was reported of a condition, which is on or off. Stored in Redis; do not rename its fields.
 *
 * - not reported: nothing is stored. → reported on, as soon as it is on.
 * - reported on → reported off, as soon as it is off.
 * - reported off → reported on, when it is on, but not before the quiet period since the last report of
 *   on has passed; changes in between are counted. → forgotten, when it is off by then.
 *
 * So the start of a flapping condition is reported once per quiet period, its end is reported at once,
 * and the final state is always reported.
 */
export interface ReportedCondition {
  readonly on: boolean;
  /** When on was reported last. Milliseconds since the epoch, like all times here. */
  readonly toldAt: number;
  /** Since when it was on at that time. */
  readonly since: number;
  /** Whether it was on in the previous round, and how often it turned on without a report. */
  readonly seenOn: boolean;
  readonly untold: number;
}

/** What follows from the current state of a condition. */
export interface Verdict {
  /** What is to be reported; absent for nothing. */
  readonly report?: 'on' | 'off';
  /** How often it turned on before without a report. */
  readonly untold: number;
  /** What is to be stored; undefined for nothing. */
  readonly reported: ReportedCondition | undefined;
}

/**
 * Judges a condition against what was reported of it.
 *
 * @param since when it turned on; default: now
 */
export function judgeCondition(
  reported: ReportedCondition | undefined,
  on: boolean,
  now: number,
  quietMs: number,
  since = now,
): Verdict {
  if (reported === undefined) {
    return on ? turnedOn(now, since, 0) : { untold: 0, reported: undefined };
  }
  const quiet = now - reported.toldAt < quietMs;
  if (reported.on) {
    if (on) return { untold: 0, reported };
    return {
      report: 'off',
      untold: 0,
      reported: { ...reported, on: false, seenOn: false, untold: 0 },
    };
  }
  if (on && !quiet) return turnedOn(now, since, reported.untold);
  if (!on && !quiet) return { untold: 0, reported: undefined };
  const untold = reported.untold + (on && !reported.seenOn ? 1 : 0);
  return { untold, reported: { ...reported, seenOn: on, untold } };
}

function turnedOn(now: number, since: number, untold: number): Verdict {
  return {
    report: 'on',
    untold,
    reported: { on: true, toldAt: now, since, seenOn: true, untold: 0 },
  };
}
