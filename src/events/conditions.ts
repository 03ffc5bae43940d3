import * as z from 'zod';
import type { Hold } from '../contracts/hold.ts';
import type { WatchFinding } from './event.ts';

/** A hold of a template; of the whole queue where that is empty. */
type WatchedHold = Hold & { readonly template: string };

/** What the watch judges. Times are Redis time, milliseconds since the epoch. */
export interface WatchedState {
  readonly now: number;
  readonly hold: Hold | undefined;
  readonly templateHolds: readonly WatchedHold[];
  /** Live workers. */
  readonly workers: { readonly length: number };
  /** Jobs that a worker could take now, and since when the oldest of the single notices waits. */
  readonly noticeJobs: { readonly waiting: number };
  readonly chunkJobs: { readonly waiting: number };
  readonly noticeWaitingSince: number | undefined;
  /** What is not known: single notices, and contacts of batches. */
  readonly unknownNotices: number;
  readonly unknownContacts: number;
  /** Its memory in bytes; a limit of 0 means that it is not known. */
  readonly redis: {
    readonly usedBytes: number;
    readonly maxBytes: number;
    readonly machineBytes: number;
  };
  /** Set by the last worker when it stops: later looks may not take place. */
  readonly leaving?: boolean;
}

/**
 * The conditions that are on, by name, each with the time since when; `alone` (no worker) and `free` (no hold) are not
 * reported.
 */
export const reportedConditions = z.record(z.string(), z.number());
export type ReportedConditions = Readonly<z.output<typeof reportedConditions>>;

/** How long the fleet may be without workers, as during a restart, in milliseconds. */
const ALONE_MS = 30_000;
/** How long a job may wait while nothing is held, in milliseconds. */
const LONG_MS = 600_000;
/** Unknown outcomes that are many. */
const MANY_UNKNOWN = 100;
/** Memory is near its limit from this share on, and no longer near it below the second share. */
const MEMORY_NEAR = 0.85;
const MEMORY_EASED = 0.8;

/** A template may be held once for each group of senders. */
const nameOfHold = ({ kind, template }: WatchedHold) => `hold:${kind}:${template}`;

/**
 * Judges what is seen. The begin and the end of each condition is reported once.
 *
 * @param before the conditions that were on at the last look
 */
export function judge(
  before: ReportedConditions,
  state: WatchedState,
): { readonly findings: readonly WatchFinding[]; readonly conditions: ReportedConditions } {
  const { now, hold, templateHolds, noticeJobs, chunkJobs } = state;
  const workers = state.workers.length;
  const waiting = noticeJobs.waiting + chunkJobs.waiting;
  const findings: WatchFinding[] = [];
  const conditions: Record<string, number> = {};
  const judgeOne = (
    name: string,
    isOn: boolean,
    report: (isOn: boolean, since: number) => WatchFinding,
    since = now,
  ) => {
    const was = before[name];
    if (isOn) conditions[name] = was ?? since;
    if (isOn !== (was !== undefined)) findings.push(report(isOn, was ?? since));
  };

  // The end of a hold comes before the begin of the one that takes its place.
  const holds = [...(hold === undefined ? [] : [{ ...hold, template: '' }]), ...templateHolds];
  const held = new Map(holds.map((one) => [nameOfHold(one), one]));
  for (const [name, since] of Object.entries(before)) {
    const [, kind, template = ''] = /^hold:([^:]+):(.*)$/s.exec(name) ?? [];
    if (kind !== undefined && !held.has(name)) {
      findings.push({ event: 'hold.ended', kind: kind as Hold['kind'], template, since });
    }
  }
  for (const [name, { kind, template, code: given, since }] of held) {
    // The reason of a manual hold is free text, and may contain anything.
    const code = kind === 'manual' ? '' : given;
    const begun = { event: 'hold.begun', kind, template, code, since } as const;
    judgeOne(name, true, () => begun, since);
  }
  if (workers === 0) conditions['alone'] = before['alone'] ?? now;
  const isAlone = state.leaving === true || now - (conditions['alone'] ?? now) >= ALONE_MS;
  // Once reported, workers are missing until one is back, even if nothing waits any more.
  const isMissing = workers === 0 && ('workers' in before || (isAlone && waiting > 0));
  judgeOne('workers', isMissing, (isOn) => ({
    event: isOn ? 'workers.none' : 'workers.back',
    waiting,
  }));
  // What waited during a hold is not late right after it.
  if (hold === undefined) conditions['free'] = before['free'] ?? now;
  const waitingSince = Math.max(state.noticeWaitingSince ?? now, conditions['free'] ?? now);
  const waitedMs = Math.max(0, now - waitingSince);
  judgeOne('waiting', waitedMs >= LONG_MS, (isOn) => ({
    event: isOn ? 'waiting.long' : 'waiting.short',
    waitedMs,
  }));
  const { unknownNotices: notices, unknownContacts: contacts } = state;
  judgeOne('unknown', notices + contacts > MANY_UNKNOWN, (isOn) => ({
    event: isOn ? 'unknown.many' : 'unknown.few',
    notices,
    contacts,
  }));
  const { usedBytes, maxBytes, machineBytes } = state.redis;
  const limitBytes = maxBytes || machineBytes;
  const share = limitBytes > 0 ? usedBytes / limitBytes : 0;
  judgeOne('memory', share >= ('memory' in before ? MEMORY_EASED : MEMORY_NEAR), (isOn) => ({
    event: isOn ? 'memory.near' : 'memory.eased',
    usedBytes,
    limitBytes,
  }));
  return { findings, conditions };
}
