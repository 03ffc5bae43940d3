import { NoticeQueueError } from '../contracts/errors.ts';
import { HOLDS, remedyOf, type Hold, type HoldKind } from '../contracts/hold.ts';
import { liftManualHold, placeManualHold } from '../fleet/hold/hold-scripts.ts';
import {
  holdTemplate,
  liftTemplate,
  readTemplateHolds,
  type TemplateHold,
} from '../fleet/hold/template-hold.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import { appendAudit, withoutNumbers, type Actor } from './audit.ts';
import { FleetReader } from './snapshot.ts';

/** A hold with the texts of its kind and code. */
export interface ExplainedHold extends Hold, ReturnType<typeof remedyOf> {
  /** Why the queue is held. */
  readonly reason: string;
}

/** The account that is held. */
interface HoldTarget {
  readonly redis: RedisClient;
  readonly keys: Keys;
}

/** Adds the texts of the kind and code of the hold. */
export function explainHold(hold: Hold): ExplainedHold {
  const { reason } = HOLDS[hold.kind];
  return { ...hold, reason, ...remedyOf(hold.kind, hold.code) };
}

/**
 * Reads the hold in force.
 *
 * @returns undefined where the queue is not held
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function holdInForce(target: HoldTarget): Promise<ExplainedHold | undefined> {
  const { hold } = await new FleetReader(target).read('hold');
  return hold === undefined ? undefined : explainHold(hold);
}

/**
 * Holds the queue until the hold is lifted manually, and records it in the audit stream. The hold has the reason
 * without phone numbers. The hold `restored` stays as it is.
 *
 * @returns the hold that is in force afterwards
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function placeAuditedHold(
  target: HoldTarget,
  actor: Actor,
): Promise<ExplainedHold | undefined> {
  const { redis, keys } = target;
  try {
    // Every page shows it, also to viewers.
    if (await placeManualHold(redis, keys, withoutNumbers(actor.why))) {
      await appendAudit(redis, keys, { ...actor, what: 'hold', target: 'queue', as: 'placed' });
    }
    return await holdInForce(target);
  } catch (error) {
    throw redisFailure(error);
  }
}

/**
 * Lifts the hold in force, and records it in the audit stream.
 *
 * @param seen the kind that the person has seen. Default: any
 * @returns the kind of the hold; undefined where the queue was not held
 * @throws NoticeQueueError NOT_POSSIBLE if a hold of another kind is in force; QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function liftAuditedHold(
  { redis, keys }: HoldTarget,
  actor: Actor,
  seen?: HoldKind,
): Promise<HoldKind | undefined> {
  try {
    const lifted = await liftManualHold(redis, keys, seen);
    if (lifted !== undefined && seen !== undefined && lifted !== seen) {
      throw otherKind(lifted);
    }
    if (lifted !== undefined) {
      const as = `lifted ${lifted}`;
      await appendAudit(redis, keys, { ...actor, what: 'hold', target: 'queue', as });
    }
    return lifted;
  } catch (error) {
    throw redisFailure(error);
  }
}

/** The templates that are held. @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED */
export async function templateHolds({ redis, keys }: HoldTarget): Promise<TemplateHold[]> {
  try {
    return await readTemplateHolds(redis, keys);
  } catch (error) {
    throw redisFailure(error);
  }
}

/**
 * Holds a template until it is lifted manually, and records it in the audit stream.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function holdTemplateAudited(
  { redis, keys }: HoldTarget,
  template: string,
  actor: Actor,
): Promise<void> {
  try {
    const { why } = actor;
    await holdTemplate(redis, keys, template, 'manual', withoutNumbers(why));
    const target = `template ${template}`;
    await appendAudit(redis, keys, { ...actor, what: 'hold', target, as: 'placed' });
  } catch (error) {
    throw redisFailure(error);
  }
}

/**
 * Lets the notices of a template go on, and records it in the audit stream.
 *
 * @param seen the kind that the person has seen. Default: any
 * @returns the kind of its hold; undefined where it was not held
 * @throws NoticeQueueError NOT_POSSIBLE if it is held for another reason; QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function liftTemplateAudited(
  { redis, keys }: HoldTarget,
  template: string,
  actor: Actor,
  seen?: HoldKind,
): Promise<HoldKind | undefined> {
  try {
    const held = await readTemplateHolds(redis, keys);
    const kind = held.find((one) => one.template === template)?.kind;
    if (kind !== undefined && seen !== undefined && kind !== seen) throw otherKind(kind);
    if (kind === undefined || !(await liftTemplate(redis, keys, template, 'manual'))) {
      return undefined;
    }
    const target = `template ${template}`;
    await appendAudit(redis, keys, { ...actor, what: 'hold', target, as: `lifted ${kind}` });
    return kind;
  } catch (error) {
    throw redisFailure(error);
  }
}

function otherKind(kind: HoldKind): NoticeQueueError {
  return new NoticeQueueError(
    'NOT_POSSIBLE',
    `The hold in force is ${kind} now; read why, then lift that one.`,
  );
}
