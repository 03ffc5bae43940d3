import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { heldTemplate, holdKind, HOLDS, type Hold, type HoldKind } from '../../contracts/hold.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { hintChannel } from '../../redis/hints.ts';
import type { Keys } from '../../redis/keys.ts';
import { storedJson } from '../../redis/stored-json.ts';
import { holdKeys, liftManual, nameIn, placeHold, templateScope } from './hold-scripts.ts';

const stored = z.object({
  kind: holdKind,
  code: z.string().default(''),
  since: z.number().default(0),
  next: z.number().default(0),
  round: z.number().default(0),
});

/** A template whose notices and chunks wait, while those of others are sent; a probe is a round of them. */
export interface TemplateHold extends Hold {
  readonly template: string;
}

export type NamedHold = TemplateHold & { readonly name: string };

/** A hold as it is stored. @returns undefined for none, and for what cannot be read */
export function parseHold(text: string | null): Hold | undefined {
  const read = storedJson(stored, text);
  if (read === undefined) return undefined;
  const { next: nextProbeAt, round: failedProbes, ...hold } = read;
  return { ...hold, nextProbeAt, failedProbes };
}

export async function readHold(
  redis: RedisClient,
  { hold }: Pick<Keys, 'hold'>,
): Promise<Hold | undefined> {
  return parseHold(await redis.hget(hold, 'queue'));
}

/** All holds: of the queue, and the templates that are held, once for each group of senders. */
export async function readHolds(
  redis: RedisClient,
  { hold }: Pick<Keys, 'hold'>,
): Promise<{ readonly queue: Hold | undefined; readonly templates: readonly NamedHold[] }> {
  const { queue = null, ...others } = await redis.hgetall(hold);
  const templates = Object.entries(others).flatMap(([scope, text]) => {
    const name = nameIn(scope);
    const held = scope === templateScope(name) ? parseHold(text) : undefined;
    return held === undefined ? [] : [{ ...held, name, template: heldTemplate(name) }];
  });
  return { queue: parseHold(queue), templates };
}

export async function readTemplateHolds(
  redis: RedisClient,
  keys: Pick<Keys, 'hold'>,
): Promise<TemplateHold[]> {
  const { templates } = await readHolds(redis, keys);
  return templates.map(({ template, kind, code, since, nextProbeAt, failedProbes }) => {
    return { template, kind, code, since, nextProbeAt, failedProbes };
  });
}

const scopeOf = (template: string | undefined) =>
  template === undefined ? 'queue' : templateScope(template);

/**
 * Holds manually, until {@link liftManualHold}.
 * @param why a few words, shown as the hold's code by `notices status`
 * @param template its code, whatever the sender keys. Default: everything
 * @returns false where the hold `restored` is in effect, which stays
 */
export async function placeManualHold(
  redis: RedisClient,
  keys: Keys,
  why: string,
  template?: string,
): Promise<boolean> {
  const args = [hintChannel(redis, keys.holdHints), scopeOf(template), 'manual', why];
  return (await placeHold(redis, holdKeys(keys), args)) === 0;
}

/**
 * Lifts the hold in effect. If its cause persists, the next send places it again.
 * @param seen the kind that the person has seen: no other one is lifted. Default: any
 * @param template as above
 * @returns the kind of the hold in effect; undefined when there was none
 */
export async function liftManualHold(
  redis: RedisClient,
  keys: Keys,
  seen?: HoldKind,
  template?: string,
): Promise<HoldKind | undefined> {
  const args = [hintChannel(redis, keys.holdHints), scopeOf(template), seen ?? ''];
  const kind = await liftManual(redis, [...holdKeys(keys), keys.done(randomUUID())], args);
  return String(kind) in HOLDS ? (kind as HoldKind) : undefined;
}
