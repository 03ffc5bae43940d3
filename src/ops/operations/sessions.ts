import { z } from 'zod';
import type { RedisClient } from '../../redis/connect.ts';
import { translated } from '../../redis/failure.ts';
import type { Keys } from '../../redis/keys.ts';
import { defineScript } from '../../redis/script.ts';
import { storedJson } from '../../redis/stored-json.ts';
import { time } from '../../contracts/answer.ts';
import { table } from '../../format/format.ts';
import { writeTime } from '../../format/time.ts';
import { appendAudit } from '../audit.ts';
import { operation } from './operation.ts';

/** A session that is not used for so long is over, in milliseconds. */
const IDLE_MS = 2 * 3_600_000;
/** How exactly the last use is known. */
const SEEN_EVERY_MS = 60_000;

const stored = z.object({
  id: z.string(),
  since: z.number(),
  seenAt: z.number(),
  until: z.number(),
  network: z.string(),
});

/** The last sign-in of a user, as it is stored. Times are milliseconds since the epoch. */
type StoredSession = z.output<typeof stored>;

/** A session as its cookie states it. */
export interface ClaimedSession extends Readonly<Pick<StoredSession, 'id' | 'since' | 'until'>> {
  readonly user: string;
}

/** ARGV: the user, what was read of him or '', and what replaces it: not where he has signed in or was ended meanwhile. */
const storeUse = defineScript({
  name: 'session-use',
  lua: `
  if (redis.call('HGET', KEYS[1], ARGV[1]) or '') == ARGV[2] then redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end`,
});

/** Stores a sign-in: earlier sessions of the user are over. @throws what Redis answers */
export async function beginSession(
  redis: RedisClient,
  { sessions }: Pick<Keys, 'sessions'>,
  { user, ...session }: ClaimedSession,
  network: string,
): Promise<void> {
  const stored: StoredSession = { ...session, seenAt: session.since, network };
  await redis.hset(sessions, user, JSON.stringify(stored));
}

/**
 * Whether a session was ended: at a sign-out, by an operator, because its user has signed in anew, or because it was not
 * used. While Redis does not answer, none was; one whose record cannot be read is over.
 *
 * @param usedFrom network of a person who uses it now; a sign-in that could not be stored is then
 */
export async function isSessionOver(
  redis: RedisClient,
  { sessions }: Pick<Keys, 'sessions'>,
  { user, id, since, until }: ClaimedSession,
  now: number,
  usedFrom?: string,
): Promise<boolean> {
  try {
    const text = await redis.hget(sessions, user);
    const last = storedJson(stored, text);
    if (text !== null && last === undefined) return true;
    const own = last?.id === id ? last : undefined;
    // A sign-in that could not be stored is a later one.
    if (own === undefined && last !== undefined && since <= last.since) return true;
    const idleMs = own === undefined ? undefined : now - own.seenAt;
    if (idleMs !== undefined && idleMs > IDLE_MS) return true;
    if (usedFrom !== undefined && (idleMs === undefined || idleMs > SEEN_EVERY_MS)) {
      const session = own ?? { id, since, until, network: usedFrom };
      const used: StoredSession = { ...session, seenAt: now };
      await storeUse(redis, [sessions], [user, text ?? '', JSON.stringify(used)]);
    }
    return false;
  } catch {
    return false;
  }
}

/** Ends all sessions that a user has so far. @throws what Redis answers */
export async function endSessions(
  redis: RedisClient,
  { sessions }: Pick<Keys, 'sessions'>,
  user: string,
  now: number,
): Promise<void> {
  const none = { id: '', since: now, seenAt: now, until: now, network: '' };
  await redis.hset(sessions, user, JSON.stringify(none satisfies StoredSession));
}

export const listSessions = operation({
  name: 'sessions list',
  help: { group: 'Account', example: 'notices sessions end kim --why "has left"' },
  summary: 'Lists the people who are signed in at the ops servers.',
  answers: 'Their sessions.',
  needs: 'operator',
  path: '/api/v1/sessions',
  input: z.object({}),
  output: z.object({
    sessions: z.array(
      z.object({
        user: z.string(),
        since: time,
        seenAt: time.describe('last use, to the minute'),
        until: time.describe('when it ends at the latest'),
        network: z.string(),
      }),
    ),
  }),
  run: async ({ redis, keys }) => {
    const now = Date.now();
    const all = Object.entries(await translated(redis.hgetall(keys.sessions)));
    return {
      sessions: all.flatMap(([user, text]) => {
        const session = storedJson(stored, text);
        if (session === undefined) return [];
        const { id, since, seenAt, until, network } = session;
        const isOver = id === '' || until <= now || now - seenAt > IDLE_MS;
        return isOver ? [] : [{ user, since, seenAt, until, network }];
      }),
    };
  },
  text: ({ sessions }, now) =>
    table([
      ['USER', 'SIGNED IN', 'LAST USE', 'NETWORK'],
      ...sessions.map(({ user, since, seenAt, network }) => [
        user,
        writeTime(since, now),
        writeTime(seenAt, now),
        network,
      ]),
    ]),
});

export const endUserSession = operation({
  name: 'sessions end',
  summary: 'Ends the session of a user: he has to sign in anew.',
  answers: 'The user, and whether a session was known.',
  needs: 'operator',
  why: 'over-http',
  path: '/api/v1/sessions/end',
  args: ['user'],
  input: z.object({ user: z.string().min(1).max(64).describe('name of the user') }),
  output: z.object({
    user: z.string(),
    known: z.boolean().describe('whether a session of the user was known'),
  }),
  run: async (context, { user }, call) => {
    const { redis, keys } = context;
    const last = storedJson(stored, await translated(redis.hget(keys.sessions, user)));
    await translated(endSessions(redis, keys, user, Date.now()));
    await appendAudit(context, call, { what: 'session', target: user, as: 'ended' });
    return { user, known: last !== undefined && last.id !== '' };
  },
  text: ({ user, known }) => [
    known
      ? `${user} has to sign in anew.`
      : `No session of ${user} is known; one that exists is ended.`,
  ],
});
