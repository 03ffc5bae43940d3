import type { RedisClient } from './connect.ts';
import { translated } from './failure.ts';
import type { Keys } from './keys.ts';
import { defineScript } from './script.ts';

/**
 * Takes or renews a turn, and changes a field with it: an event is appended or reported by one process, and once.
 *
 * KEYS: turns, events. ARGV: name, nonce of the process, milliseconds, `end` where its turn is over and none follows for
 * these, name of a field or empty, its value as it was read, its new value, the findings to append. Answers 1, or 0 where
 * another process has the turn or the field was changed meanwhile. A turn that ends later than any does is of a clock that
 * went back; one that is over takes nothing from the turn that followed it.
 */
const turnScript = defineScript({
  name: 'turn',
  lua: `
local name, nonce, ms, isOver, field = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] == 'end', ARGV[5]
local ends, holder = string.match(redis.call('HGET', KEYS[1], name) or '', '^(%d+) (.*)$')
local now = clock()
local rest = tonumber(ends or 0) - now
if holder ~= nonce and (isOver or rest > 0 and rest <= ms) then return 0 end
if field ~= '' and (redis.call('HGET', KEYS[1], field) or '') ~= ARGV[6] then return 0 end
if ms == 0 then redis.call('HDEL', KEYS[1], name)
else redis.call('HSET', KEYS[1], name, string.format('%.0f %s', now + ms, nonce)) end
if field ~= '' then redis.call('HSET', KEYS[1], field, ARGV[7]) end
for at = 8, #ARGV do redis.call('XADD', KEYS[2], '*', 'event', 'watch', 'finding', ARGV[at]) end
return 1`,
  parse: (reply: unknown) => reply === 1,
});

/** A field that is changed with a turn, unless it was changed since it was read. */
export interface TurnChange {
  readonly field: string;
  readonly before: string;
  readonly value: string;
  /** Findings to append to the events, as JSON. */
  readonly findings?: readonly string[];
}

/**
 * Takes a turn at what one process of the fleet does at a time, or renews it.
 *
 * @param nonce another one for each turn that nothing follows before it is over
 * @returns whether this process has the turn, and the change was made
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export function takeTurn(
  redis: RedisClient,
  keys: Pick<Keys, 'turns' | 'events'>,
  name: string,
  nonce: string,
  ms: number,
  { field, before, value, findings = [] }: TurnChange = { field: '', before: '', value: '' },
): Promise<boolean> {
  const args = [name, nonce, ms, '', field, before, value, ...findings];
  return translated(turnScript(redis, [keys.turns, keys.events], args));
}

/**
 * Ends a turn, unless another process has it by now.
 *
 * @param restMs so long none follows
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export function endTurn(
  redis: RedisClient,
  keys: Pick<Keys, 'turns' | 'events'>,
  name: string,
  nonce: string,
  restMs: number,
): Promise<boolean> {
  return translated(turnScript(redis, [keys.turns, keys.events], [name, nonce, restMs, 'end', '']));
}
