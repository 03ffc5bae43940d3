import type { BatchEvent } from '../../batch/ledger/batch-events.ts';
import { HOLDS, type HoldKind } from '../../contracts/hold.ts';
import {
  backDraft,
  batchDraft,
  failingDraft,
  heldDraft,
  liftedDraft,
  memoryDraft,
  missingDraft,
  nearDraft,
  unknownDraft,
} from './alert-drafts.ts';
import type { AlertDraft } from './alert-event.ts';
import type { AlertMemory, AlertSnapshot, NoticeEnds } from './alert-snapshot.ts';
import { judgeCondition, type ReportedCondition } from './conditions.ts';

/** Result of a round: the alerts to report, and the memory to store. */
export interface AlertJudgement {
  readonly alerts: readonly AlertDraft[];
  readonly memory: AlertMemory;
}

/** The limits of alerts. */
export interface AlertLimits {
  /** ALERT_QUIET_MS */
  readonly quietMs: number;
  /** ALERT_FAILED_NOTICES and ALERT_FAILED_PERCENT; 0 for none. */
  readonly failedNotices: number;
  readonly failedPercent: number;
}

/** A share of fewer failed notices says nothing. */
const FEWEST_FAILED = 5;

/** Memory is near its limit from this share on, and no longer near it below the second share. */
const MEMORY_NEAR = 0.85;
const MEMORY_EASED = 0.8;

/** How long the fleet may be without workers, as during a restart, in milliseconds. */
const ALONE_MS = 30_000;

/** Time without rounds from which on no worker ran, or none reached Redis, in milliseconds. */
const GAP_MS = 60_000;

/**
 * Judges one round. Conditions are reported as described in conditions.ts, the end of a batch each time,
 * and unknown outcomes when there are more of them than were reported.
 *
 * @param before memory of the previous round; undefined in the first one: then only batch events from
 *   now on are reported
 */
export function judgeAlerts(
  before: AlertMemory | undefined,
  snapshot: AlertSnapshot,
  limits: AlertLimits,
): AlertJudgement {
  const { quietMs } = limits;
  const { now, kept, cursor } = snapshot;
  const memory = before ?? emptyMemory(snapshot);
  const reported = new Map(Object.entries(memory.told));
  const alerts: AlertDraft[] = [];
  if (wasAway(memory, snapshot)) alerts.push(backDraft(memory.lookedAt, now));
  const aloneSince = snapshot.workers > 0 ? 0 : memory.aloneSince || now;
  for (const { name, on, since, draft } of conditionsOf(memory, snapshot, aloneSince, limits)) {
    const was = reported.get(name);
    const verdict = judgeCondition(was, on, now, quietMs, since);
    if (verdict.reported === undefined) reported.delete(name);
    else reported.set(name, verdict.reported);
    const alert = verdict.report && draft(verdict.report, was);
    if (alert === undefined) continue;
    alerts.push(verdict.untold === 0 ? alert : { ...alert, repeated: verdict.untold });
  }
  for (const event of snapshot.batchEvents) {
    if (event.event === 'batch.stalled' && isQuiet(event, reported, now, quietMs)) continue;
    const alert = batchDraft(event);
    if (alert !== undefined) alerts.push(alert);
  }
  for (const [name, { toldAt }] of reported) {
    if (name.startsWith(STALLED) && now - toldAt >= quietMs) reported.delete(name);
  }
  const unknown = judgeUnknown(memory.unknown, snapshot, quietMs, alerts);
  const keptSeenAt = kept === undefined ? memory.keptSeenAt : now;
  return {
    alerts,
    memory: {
      lookedAt: now,
      aloneSince,
      keptSeenAt,
      cursor,
      told: Object.fromEntries(reported),
      unknown,
    },
  };
}

/** A condition that is on or off, and its alert; no alert where its start or end is not reported. */
interface Condition {
  readonly name: string;
  readonly on: boolean;
  readonly since: number;
  readonly draft: (
    change: 'on' | 'off',
    was: ReportedCondition | undefined,
  ) => AlertDraft | undefined;
}

const NEAR = 'near:';
const STALLED = 'stalled:';

function conditionsOf(
  memory: AlertMemory,
  snapshot: AlertSnapshot,
  aloneSince: number,
  limits: AlertLimits,
): Condition[] {
  const { told } = memory;
  const { now, workers, waiting, leaving, memory: redis, kept, ends } = snapshot;
  const { used, limit } = redis;
  const missed = told['workers']?.on === true;
  const alone = workers === 0 && (leaving === true || now - aloneSince >= ALONE_MS);
  const share = limit > 0 ? used / limit : 0;
  const threshold = told['memory']?.on === true ? MEMORY_EASED : MEMORY_NEAR;
  const near = new Map(kept?.near.map((one) => [`${NEAR}${one.batch}`, one]));
  // Reported ones are included: they may be resolved or deleted by now.
  const known = kept === undefined ? [] : Object.keys(told).filter((name) => name.startsWith(NEAR));
  return [
    {
      name: 'workers',
      // Once reported, workers are missing until one is back, even if nothing waits any more.
      on: missed ? workers === 0 : alone && waiting > 0,
      since: aloneSince,
      draft: (change, was) =>
        change === 'on' ? missingDraft(waiting) : backDraft(was?.since ?? now, now),
    },
    ...holdConditions(memory, snapshot, limits),
    {
      name: 'failing',
      on: isFailing(ends, limits),
      since: now,
      draft: (change) => failingDraft(change, ends),
    },
    {
      name: 'memory',
      on: share >= threshold,
      since: now,
      draft: (change) => memoryDraft(change, used, limit),
    },
    ...[...new Set([...near.keys(), ...known])].map((name): Condition => {
      const one = near.get(name);
      return {
        name,
        on: one !== undefined,
        since: now,
        draft: () => one && nearDraft(one),
      };
    }),
  ];
}

/**
 * One for each kind of hold. A hold that takes the place of another one, in the quiet period of its own kind, is not
 * reported: until it is, the replaced one counts as in force, so that no alert says that sending resumes before it does.
 */
function holdConditions(
  { told }: AlertMemory,
  { now, hold }: AlertSnapshot,
  { quietMs }: AlertLimits,
): Condition[] {
  const was = hold && told[nameOfHold(hold.kind)];
  const isQuiet = was !== undefined && !was.on && now - was.toldAt < quietMs;
  // The end of one comes before the begin of the next.
  const kinds = (Object.keys(HOLDS) as HoldKind[]).filter((kind) => kind !== hold?.kind);
  const others = kinds.map((kind): Condition => {
    const name = nameOfHold(kind);
    return {
      name,
      on: isQuiet && told[name]?.on === true,
      since: now,
      draft: (_, was) => liftedDraft(kind, was?.since ?? now, now, hold),
    };
  });
  if (hold === undefined) return others;
  const draft = () => heldDraft(hold);
  return [...others, { name: nameOfHold(hold.kind), on: true, since: hold.since, draft }];
}

const nameOfHold = (kind: HoldKind) => `hold:${kind}`;

function isFailing(
  { accepted, rejected, unknown, expired }: NoticeEnds,
  { failedNotices, failedPercent }: AlertLimits,
): boolean {
  const failed = rejected + unknown + expired;
  if (failedNotices > 0 && failed >= failedNotices) return true;
  if (failedPercent === 0 || failed < FEWEST_FAILED) return false;
  return failed * 100 >= failedPercent * (failed + accepted);
}

/** Whether this round ends a time without rounds, and the missing workers were not reported before. */
function wasAway({ lookedAt, told }: AlertMemory, { now, workers }: AlertSnapshot): boolean {
  return now - lookedAt >= GAP_MS && workers > 0 && told['workers']?.on !== true;
}

/** A stalled batch has an event each minute, of which one per quiet period is reported. */
function isQuiet(
  { batch, at }: BatchEvent,
  reported: Map<string, ReportedCondition>,
  now: number,
  quietMs: number,
): boolean {
  const name = `${STALLED}${batch}`;
  if (now - (reported.get(name)?.toldAt ?? -Infinity) < quietMs) return true;
  reported.set(name, { on: false, toldAt: now, since: at, seenOn: false, untold: 0 });
  return false;
}

/** Reports unknown outcomes when there are more than were reported, once per quiet period. */
function judgeUnknown(
  before: AlertMemory['unknown'],
  { now, unknownNotices: notices, kept }: AlertSnapshot,
  quietMs: number,
  alerts: AlertDraft[],
): AlertMemory['unknown'] {
  const contacts = kept?.unknownContacts ?? before.seenContacts;
  const more = notices > before.notices || contacts > before.contacts;
  if (more && now - before.toldAt >= quietMs) {
    alerts.push(unknownDraft(notices, contacts));
    return { notices, contacts, seenContacts: contacts, toldAt: now };
  }
  return {
    notices: Math.min(notices, before.notices),
    contacts: Math.min(contacts, before.contacts),
    seenContacts: contacts,
    toldAt: before.toldAt,
  };
}

function emptyMemory({ now, cursor }: AlertSnapshot): AlertMemory {
  return {
    lookedAt: now,
    aloneSince: 0,
    keptSeenAt: 0,
    cursor,
    told: {},
    unknown: { notices: 0, contacts: 0, seenContacts: 0, toldAt: 0 },
  };
}
