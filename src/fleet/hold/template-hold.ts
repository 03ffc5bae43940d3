import { createHash } from 'node:crypto';
import { HOLDS, type HoldKind } from '../../contracts/hold.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { hintChannel } from '../../redis/hints.ts';
import type { Keys } from '../../redis/keys.ts';
import { defineScript } from '../../redis/script.ts';
import { MOST_PROBES } from './trouble.ts';

/**
 * A template whose notices and chunks wait, while those of others are sent: the service refused some twenty
 * in a row alike, and accepted none. Times are Redis time, in milliseconds since the epoch.
 */
export interface TemplateHold {
  readonly template: string;
  readonly kind: HoldKind;
  /** Status or code of the refusals; the reason of a person. */
  readonly code: string;
  readonly since: number;
  readonly nextProbeAt: number;
  /** Rounds of probes so far. */
  readonly rounds: number;
}

/** A held template with its {@link heldName}. */
export type NamedHold = TemplateHold & { readonly name: string };

/**
 * The name under which notices of a template are held: with their sender keys, since the service refuses what is sent
 * by an unknown sender, too, and those of another sender are not at fault. A person holds the template alone.
 */
export function heldName(
  templateCode: string,
  { senderKey, chatSenderKey }: { readonly senderKey?: unknown; readonly chatSenderKey?: unknown },
): string {
  if (senderKey === undefined && chatSenderKey === undefined) return `${templateCode}\n`;
  const senders = JSON.stringify([senderKey, chatSenderKey]);
  return `${templateCode}\n${createHash('sha256').update(senders).digest('hex').slice(0, 8)}`;
}

/** The template in such a name. */
export function heldTemplate(name: string): string {
  const end = name.lastIndexOf('\n');
  return end < 0 ? name : name.slice(0, end);
}

/** Most templates that are held at a time: more are not, and their notices end by themselves. */
const MOST_HELD = 1_000;

/** Jobs of a template that a person holds look at it again after this time. */
const MANUAL_LOOK_MS = 15_000;

/**
 * The record of a held template, as JSON in a field of one hash: kind, code, since, next (time of the next round),
 * round, left (probes of this round that are not taken yet). A round of probes is taken one by one, and
 * the worker that takes the last moves the next round away: a refusal takes nothing, so several at a time find a good notice
 * behind many that are at fault. Nothing is lost with a probe whose worker dies.
 */
const PRELUDE = `
local holds, template, now = KEYS[1], ARGV[1], clock()
alsoWhenFull()
local function read()
  local isRead, held = pcall(cjson.decode, redis.call('HGET', holds, template) or 'null')
  if not isRead or type(held) ~= 'table' then return nil end
  held.next = tonumber(held.next) or 0
  return held
end
local function write(held) redis.call('HSET', holds, template, cjson.encode(held)) end
`;

const placeScript = defineScript({
  name: 'hold template',
  lua: `${PRELUDE}
local held = read()
if held and (held.kind == 'manual' or ARGV[2] ~= 'manual') then return 0 end
if not held and redis.call('HLEN', holds) >= ${MOST_HELD} then return 0 end
write({ kind = ARGV[2], code = ARGV[3], since = now, next = now + tonumber(ARGV[4]), round = 0, left = 1 })
redis.call('PUBLISH', ARGV[5], '')
return 1`,
});

const enterScript = defineScript({
  name: 'enter held template',
  lua: `${PRELUDE}
local held = read()
if not held then return { 'open' } end
if held.kind == 'manual' then return { 'wait', now + ${MANUAL_LOOK_MS} } end
if held.next > now then return { 'wait', held.next } end
held.left = (tonumber(held.left) or 1) - 1
if held.left <= 0 then
  held.round = (tonumber(held.round) or 0) + 1
  held.left = math.min(2 ^ math.min(held.round, 10), ${MOST_PROBES})
  held.next = now + math.min(tonumber(ARGV[2]) * 2 ^ math.min(held.round, 20), tonumber(ARGV[3]))
end
write(held)
return { 'probe', held.round }`,
});

const liftScript = defineScript({
  name: 'lift template hold',
  lua: `${PRELUDE}
local held = read()
local lifted = 0
if held and (held.kind ~= 'manual' or ARGV[2] == 'manual') then lifted = redis.call('HDEL', holds, template) end
if ARGV[2] == 'manual' then
  for _, name in ipairs(redis.call('HKEYS', holds)) do
    if string.match(name, '^(.*)\\n') == template then lifted = lifted + redis.call('HDEL', holds, name) end
  end
end
if lifted == 0 then return 0 end
redis.call('PUBLISH', ARGV[3], '')
return 1`,
});

type HeldKeys = Pick<Keys, 'templateHolds' | 'holdHints'>;

/**
 * Holds a template.
 * @param kind `manual` where a person does it; no other one replaces that
 * @param code status or code of the refusals; why, of a person
 * @returns whether it was not held before
 */
export async function holdTemplate(
  redis: RedisClient,
  { templateHolds, holdHints }: HeldKeys,
  template: string,
  kind: HoldKind,
  code: string,
  firstProbeMs = 0,
): Promise<boolean> {
  const args = [template, kind, code, Math.ceil(firstProbeMs), hintChannel(redis, holdHints)];
  return (await placeScript(redis, [templateHolds], args)) === 1;
}

/**
 * Asks to send a notice of a template that was held a moment ago.
 * @param distances of the rounds of probes, in milliseconds
 * @returns `open`, the round of probes that it belongs to, or the time of the next round
 */
export async function enterTemplate(
  redis: RedisClient,
  { templateHolds }: HeldKeys,
  template: string,
  distances: { readonly minMs: number; readonly maxMs: number },
): Promise<'open' | { readonly probeOf: number } | number> {
  const args = [template, distances.minMs, distances.maxMs];
  const reply = await enterScript(redis, [templateHolds], args);
  const [verdict, figure] = reply as ['open' | 'probe' | 'wait', number];
  if (verdict === 'open') return verdict;
  return verdict === 'probe' ? { probeOf: figure } : figure;
}

/**
 * Lets the notices of a template go on.
 * @param template its name ({@link heldName}); of a person the template, whatever the sender keys
 * @param by `acceptance` does not lift what a person holds
 * @returns whether it was held
 */
export async function liftTemplate(
  redis: RedisClient,
  { templateHolds, holdHints }: HeldKeys,
  template: string,
  by: 'acceptance' | 'manual',
): Promise<boolean> {
  return (
    (await liftScript(redis, [templateHolds], [template, by, hintChannel(redis, holdHints)])) === 1
  );
}

/** The templates that are held, once for each group of senders; at most a thousand. */
export async function readTemplateHolds(
  redis: RedisClient,
  keys: HeldKeys,
): Promise<TemplateHold[]> {
  const held = await readNamedHolds(redis, keys);
  return held.map(({ template, kind, code, since, nextProbeAt, rounds }) => {
    return { template, kind, code, since, nextProbeAt, rounds };
  });
}

/** The same, with their names. */
export async function readNamedHolds(
  redis: RedisClient,
  { templateHolds }: HeldKeys,
): Promise<NamedHold[]> {
  return Object.entries(await redis.hgetall(templateHolds)).flatMap(([name, text]) => {
    const held = parsed(text);
    const { kind, code, since, next, round } = held;
    if (typeof kind !== 'string' || !(kind in HOLDS)) return [];
    return [
      {
        name,
        template: heldTemplate(name),
        kind: kind as HoldKind,
        code: typeof code === 'string' ? code : '',
        since: Number(since),
        nextProbeAt: Number(next),
        rounds: Number(round),
      },
    ];
  });
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
