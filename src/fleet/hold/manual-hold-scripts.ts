import { DONE_MS } from '../../redis/keys.ts';
import { defineScript } from '../../redis/script.ts';
import { HOLD_PRELUDE } from './hold-prelude.ts';

/** Lifetime of a hold that only a person lifts, in milliseconds. */
export const MANUAL_HOLD_MS = 365 * 24 * 3_600_000;

/** The longest refusal of an issuance is no longer. */
const LIFTED_MS = 60_000;

/**
 * Holds the queue manually. Replaces an automatic hold, but not `restored`: a person who lifts that one
 * must have read its report. ARGV: why, channel.
 */
export const placeManual = defineScript({
  name: 'placeManual',
  keys: 4,
  lua: `${HOLD_PRELUDE}
local kind = redis.call('HGET', hold, 'kind')
if kind == 'restored' then return 0 end
if kind ~= 'manual' then
  redis.call('DEL', hold, probe)
  redis.call('HSET', hold, 'kind', 'manual', 'since', now, 'nextProbeAt', 0, 'failedProbes', 0)
end
redis.call('HSET', hold, 'code', ARGV[1])
redis.call('PEXPIRE', hold, ${MANUAL_HOLD_MS})
block(${MANUAL_HOLD_MS})
redis.call('PUBLISH', ARGV[2], 'manual')
return 1`,
});

/**
 * Lifts the hold in effect; refused issuances from before are over then. KEYS: also the mark of the request, so that it
 * answers the same when it is repeated, and the time of the lift. ARGV:
 * channel, the kind of the hold that was seen, or '' for any. Answers the kind of the hold in effect, or ''; with another
 * one than was seen, nothing is lifted.
 */
export const liftManual = defineScript({
  name: 'liftManual',
  keys: 6,
  lua: `${HOLD_PRELUDE}
local done = redis.call('GET', KEYS[5])
if done then return done end
local kind = redis.call('HGET', hold, 'kind') or ''
if kind ~= '' and ARGV[2] ~= '' and kind ~= ARGV[2] then return kind end
redis.call('DEL', hold, probe)
unblock()
redis.call('SET', KEYS[6], string.format('%.0f', now), 'PX', ${LIFTED_MS})
redis.call('PUBLISH', ARGV[1], '')
redis.call('SET', KEYS[5], kind, 'PX', ${DONE_MS})
return kind`,
});
