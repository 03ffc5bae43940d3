import type { ErrorCode, TokenRefusedError } from '../contracts/errors.ts';
import type { TokenKeys } from '../redis/keys.ts';
import { defineScript, type ScriptClient } from '../redis/script.ts';
import { holdOf, readRefusal } from './token-refusal.ts';
import { redisError } from './token-record.ts';
import { RECORD_PRELUDE } from './token-scripts.ts';

/** Reads the record for status pages: everything but the token. */
const inspect = defineScript({
  name: 'token inspect',
  keys: 4,
  lua: `${RECORD_PRELUDE}
local current, lock, refused, issued = unpack(KEYS)
local now = clock()
local token = read(current)
local stored = {}
if token.whole then
  stored = { token.id, text(token.issuedAt), text(now - token.issuedAt),
    token.expiresAt and text(token.expiresAt) or '', text(token.fence), token.issuer,
    token.proven and '1' or '0' }
end
local refusal = {}
local refusedFor = redis.call('PTTL', refused)
if refusedFor > 0 then
  local f = redis.call('HMGET', refused, 'kind', 'code')
  refusal = { f[1] or '', f[2] or '', text(now + refusedFor), text(refusedFor) }
end
return { stored, refusal, redis.call('EXISTS', lock),
  redis.call('ZCOUNT', issued, text(now - tonumber(ARGV[1])), '+inf') }`,
});

/** The state of the shared token for status; never its value. Times are Redis time, ms since the epoch. */
export interface TokenStatus {
  /** Absent when none is stored. */
  readonly token?: {
    readonly id: string;
    readonly issuedAt: number;
    readonly ageMs: number;
    /** Absent when the service does not report it. */
    readonly expiresAt?: number;
    readonly fence: number;
    /** Id of the worker, or name of the command, that issued it. */
    readonly issuer: string;
    /** A call with it was accepted. */
    readonly proven: boolean;
  };
  /** Absent when tokens may be issued. */
  readonly refusal?: {
    readonly hold: TokenRefusedError['hold'];
    readonly code: ErrorCode;
    readonly until: number;
  };
  /** A process is issuing a token. */
  readonly issuing: boolean;
  /** Issuances within the window of the budget. */
  readonly issuances: number;
}

/**
 * Reads the state of one shared token with one script; needs no key to decrypt the token.
 *
 * @param windowMs TOKEN_BUDGET_WINDOW_MS. Default 3,600,000
 * @throws NoticeQueueError TOKEN_UNAVAILABLE when Redis fails
 */
export async function readTokenStatus(
  redis: ScriptClient,
  keys: TokenKeys,
  windowMs = 3_600_000,
): Promise<TokenStatus> {
  let reply: unknown;
  try {
    reply = await inspect(redis, [keys.current, keys.lock, keys.refused, keys.issued], [windowMs]);
  } catch (error) {
    throw redisError(error);
  }
  const [stored, refusal, locked, issuances] = list(reply);
  return {
    ...tokenPart(texts(stored)),
    ...refusalPart(texts(refusal)),
    issuing: locked === 1,
    issuances: Number(issuances ?? 0),
  };
}

function tokenPart([id, issuedAt, ageMs, expiresAt, fence, issuer, proven]: string[]): Pick<
  TokenStatus,
  'token'
> {
  if (id === undefined) return {};
  return {
    token: {
      id,
      issuedAt: Number(issuedAt),
      ageMs: Number(ageMs),
      ...(expiresAt === '' ? {} : { expiresAt: Number(expiresAt) }),
      fence: Number(fence),
      issuer: issuer ?? '',
      proven: proven === '1',
    },
  };
}

function refusalPart([kind, code = '', until]: string[]): Pick<TokenStatus, 'refusal'> {
  if (kind === undefined) return {};
  const refusal = readRefusal(kind, code, 0);
  return { refusal: { hold: holdOf(refusal.kind), code: refusal.code, until: Number(until) } };
}

function texts(value: unknown): string[] {
  return list(value).map(String);
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}
