import type { BatchEvent } from '../../batch/ledger/batch-events.ts';
import { HOLDS, type HoldKind } from '../../contracts/hold.ts';
import {
  backDraft,
  batchDraft,
  heldDraft,
  liftedDraft,
  memoryDraft,
  missingDraft,
  nearDraft,
  unknownDraft,
} from './alert-drafts.ts';
import type { AlertDraft } from './alert-event.ts';
import type { AlertMemory, AlertSnapshot } from './alert-snapshot.ts';
import { judgeCondition, type ReportedCondition } from './conditions.ts';

/** What is told after a look, and what is to be remembered. */
export interface AlertJudgement {
  readonly alerts: readonly AlertDraft[];
  readonly memory: AlertMemory;
}

/** Memory is near its limit from this share on, and eased again below the second. */
const MEMORY_NEAR = 0.85;
const MEMORY_EASED = 0.8;

/** A fleet that is started anew is without a worker for a moment. */
const ALONE_MS = 30_000;

/** Nobody looked for so long: no worker ran, or none reached Redis. */
const GAP_MS = 60_000;

/**
 * What is to be told after a look. Conditions are told as conditions.ts says; the end of a batch each
 * time; unknown ones when there are more of them than were told.
 *
 * @param before undefined where nobody ever looked: then batches are told of from now on
 */
export function judgeAlerts(
  before: AlertMemory | undefined,
  sight: AlertSnapshot,
  quietMs: number,
): AlertJudgement {
  const { now, kept, cursor } = sight;
  const memory = before ?? emptyMemory(sight);
  const told = new Map(Object.entries(memory.told));
  const alerts: AlertDraft[] = [];
  if (wasAway(memory, sight)) alerts.push(backDraft(memory.lookedAt, now));
  const aloneSince = sight.workers > 0 ? 0 : memory.aloneSince || now;
  for (const { name, on, since, draft } of conditionsOf(memory, sight, aloneSince)) {
    const was = told.get(name);
    const verdict = judgeCondition(was, on, now, quietMs, since);
    if (verdict.told === undefined) told.delete(name);
    else told.set(name, verdict.told);
    const alert = verdict.tell && draft(verdict.tell, was);
    if (alert === undefined) continue;
    alerts.push(verdict.untold === 0 ? alert : { ...alert, repeated: verdict.untold });
  }
  for (const event of sight.batchEvents) {
    if (event.event === 'batch.stalled' && hush(event, told, now, quietMs)) continue;
    const alert = batchDraft(event);
    if (alert !== undefined) alerts.push(alert);
  }
  for (const [name, { toldAt }] of told) {
    if (name.startsWith(STALLED) && now - toldAt >= quietMs) told.delete(name);
  }
  const unknown = judgeUnknown(memory.unknown, sight, quietMs, alerts);
  const keptSeenAt = kept === undefined ? memory.keptSeenAt : now;
  return {
    alerts,
    memory: {
      lookedAt: now,
      aloneSince,
      keptSeenAt,
      cursor,
      told: Object.fromEntries(told),
      unknown,
    },
  };
}

/** Something that is on or off, and what is said of it; nothing where it begins or ends in silence. */
interface Condition {
  readonly name: string;
  readonly on: boolean;
  readonly since: number;
  readonly draft: (
    tell: 'on' | 'off',
    was: ReportedCondition | undefined,
  ) => AlertDraft | undefined;
}

const NEAR = 'near:';
const STALLED = 'stalled:';

function conditionsOf(
  { told }: AlertMemory,
  { now, hold, workers, waiting, leaving, memory: { used, limit }, kept }: AlertSnapshot,
  aloneSince: number,
): Condition[] {
  const missed = told['workers']?.on === true;
  const alone = workers === 0 && (leaving === true || now - aloneSince >= ALONE_MS);
  const share = limit > 0 ? used / limit : 0;
  const most = told['memory']?.on === true ? MEMORY_EASED : MEMORY_NEAR;
  const near = new Map(kept?.near.map((one) => [`${NEAR}${one.batch}`, one]));
  // What was told is looked at as well: it may be decided on by now, or be deleted.
  const known = kept === undefined ? [] : Object.keys(told).filter((name) => name.startsWith(NEAR));
  return [
    {
      name: 'workers',
      // Whoever was missed stays missed until a worker is back, also where nothing waits any more.
      on: missed ? workers === 0 : alone && waiting > 0,
      since: aloneSince,
      draft: (tell, was) =>
        tell === 'on' ? missingDraft(waiting) : backDraft(was?.since ?? now, now),
    },
    ...(Object.keys(HOLDS) as HoldKind[]).map((kind): Condition => {
      const begun = hold?.kind === kind ? hold : undefined;
      return {
        name: `hold:${kind}`,
        on: begun !== undefined,
        since: begun?.since ?? now,
        draft: (_, was) =>
          begun === undefined ? liftedDraft(kind, was?.since ?? now, now) : heldDraft(begun),
      };
    }),
    {
      name: 'memory',
      on: share >= most,
      since: now,
      draft: (tell) => memoryDraft(tell, used, limit),
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

/** Whether a time has ended in which nobody looked, and nobody was left to say that workers are gone. */
function wasAway({ lookedAt, told }: AlertMemory, { now, workers }: AlertSnapshot): boolean {
  return now - lookedAt >= GAP_MS && workers > 0 && told['workers']?.on !== true;
}

/** A batch that stands is stalled anew each minute; it is told once in a quiet period. */
function hush(
  { batch, at }: BatchEvent,
  told: Map<string, ReportedCondition>,
  now: number,
  quietMs: number,
): boolean {
  const name = `${STALLED}${batch}`;
  if (now - (told.get(name)?.toldAt ?? -Infinity) < quietMs) return true;
  told.set(name, { on: false, toldAt: now, since: at, seenOn: false, untold: 0 });
  return false;
}

/** Told when there are more of them than were told, once in a quiet period. */
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
