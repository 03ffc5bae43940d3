import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { freePort } from '../../../scripts/redis/free-port.ts';
import { startRedisServer, type RedisServer } from '../../../scripts/redis/redis-server.ts';
import { startEmulator } from '../../../src/emulator/emulator.ts';
import { startReceiver } from '../../events/support/receiver.ts';
import { until } from '../../support/wait.ts';
import { startProcess, type RunningProcess } from '../../cli/support/process.ts';
import type { Env } from '../../cli/support/run.ts';
import { NUMBERS, SECRET_VARIABLES, SECRETS } from './canaries.ts';
import { readFiles, readRedis, readSlowLog } from './read-redis.ts';
import type { Written } from './search.ts';
import { startTap } from './tap.ts';
import { temporaryFolder } from '../../support/temporary.ts';

/** An installation with a Redis of its own, whose files can be searched. */
interface Installation {
  readonly redis: RedisServer;
  readonly env: Env;
}

/** Everything that takes part, and everything that was written. */
export type World = Awaited<ReturnType<typeof startWorld>>;

/** All data as text: nothing in them is compressed but what we compress. */
const READABLE = ['--rdbcompression', 'no', '--aof-use-rdb-preamble', 'no'];

/** As if every command were a slow one. */
const ALL_SLOW = ['--slowlog-log-slower-than', '0', '--slowlog-max-len', '1000000'];

const SETTINGS = {
  LOG_LEVEL: 'trace',
  REDIS_PREFIX: 'canary',
  NOTICE_EVENTS: '1000',
  BACKOFF_BASE_MS: '10ms',
  BACKOFF_CAP_MS: '100ms',
  // As many as the answers of trouble.ts that may count, and one more.
  ATTEMPTS: '4',
  UNKNOWN_RESENDS: '1',
  CONNECT_TIMEOUT_MS: '1s',
  ANSWER_TIMEOUT_MS: '2s',
  SEND_DEADLINE_MS: '3s',
  ISSUE_DEADLINE_MS: '2s',
  HOLD_PROBE_MIN_MS: '50ms',
  HOLD_PROBE_MAX_MS: '200ms',
  TOKEN_GRACE_MS: '0s',
  HEARTBEAT_MS: '200ms',
  LOCK_DURATION_MS: '7s',
  RESTORE_GUARD: 'warn',
  KEEP_ACCEPTED_MS: '1h',
} as const;

export async function startWorld() {
  const folder = temporaryFolder();
  const below = (name: string) => path.join(folder, name);
  for (const name of ['lists', 'state', 'redis', 'open-redis']) mkdirSync(below(name));
  const emulator = await startEmulator({
    accessKey: SECRETS.accessKey,
    secretKey: SECRETS.secretKey,
    tokenMode: 'many',
    rejectContacts: [NUMBERS.rejected, NUMBERS.inListRejected],
  });
  onTestFinished(() => emulator.close());
  const tap = await startTap(emulator.url);
  const events = await startReceiver();
  const healthPort = await freePort();
  const installation = async (data: string, more: Env): Promise<Installation> => {
    const args = ['--requirepass', SECRETS.redisPassword, ...READABLE, ...ALL_SLOW];
    const redis = await startRedisServer({ persistence: true, dir: below(data), args });
    onTestFinished(() => redis.close());
    const env = {
      ...SETTINGS,
      ...SECRET_VARIABLES,
      REDIS_URL: redis.url,
      BASE_URL: tap.url,
      EVENT_WEBHOOK_URL: events.url,
      STATE_FILE: path.join(below('state'), data),
      CANARY_SPANS: below('spans.jsonl'),
      NODE_OPTIONS: `--import ${new URL('spans-to-file.mjs', import.meta.url).href}`,
      ...more,
    };
    return { redis, env };
  };
  // With all keys.
  const main = await installation('redis', { HEALTH_ADDRESS: String(healthPort) });
  // Without PAYLOAD_KEY, and with version 1 of the service's API.
  const open = await installation('open-redis', {
    PAYLOAD_KEY: '',
    PAYLOAD_KEY_PREVIOUS: '',
    API_VERSION: 'v1',
  });
  const written: Written[] = [];
  const write = (place: string, text: string) => {
    written.push({ place, bytes: Buffer.from(text) });
  };
  const running: (readonly [string, RunningProcess])[] = [];
  const connect = ({ redis }: Installation) => {
    const client = new Redis(redis.url, { password: SECRETS.redisPassword });
    client.on('error', () => undefined);
    onTestFinished(() => client.disconnect());
    return client;
  };
  /** Collects what Redis forgets when it ends. */
  const collectSlowLog = async (installation: Installation) => {
    const client = connect(installation);
    const place =
      installation === main ? 'slow log of Redis' : 'slow log of Redis without PAYLOAD_KEY';
    written.push(await readSlowLog(client, place));
    client.disconnect();
  };
  return {
    emulator,
    tap,
    /** Files of people: lists, and what commands write beside them. */
    folder,
    main,
    open,
    healthPort,
    written,
    write,
    connect,
    collectSlowLog,
    /** Starts a program that runs until it is stopped; what it writes is collected. */
    start: (place: string, args: readonly string[], env: Env) => {
      const program = startProcess(args, env);
      running.push([place, program]);
      return program;
    },
    /** Waits until one of the programs of a place has written what matches. */
    says: (place: string, pattern: RegExp) => {
      const said = () => running.some(([at, one]) => at === place && pattern.test(one.stdout()));
      return until(said, { what: `${pattern.source} in the ${place}`, deadlineMs: 60_000 });
    },
    /** Collects what lies in Redis, in files and at the receivers. */
    collect: async () => {
      for (const [place, program] of running) {
        program.stop('SIGTERM');
        const { stdout, stderr } = await program.ended;
        write(place, stdout);
        write(place, stderr);
      }
      for (const { headers, body } of events.received) {
        write('webhook', JSON.stringify(headers) + body);
      }
      for (const [place, one, data] of [
        ['Redis', main, 'redis'],
        ['Redis without PAYLOAD_KEY', open, 'open-redis'],
      ] as const) {
        await collectSlowLog(one);
        const client = connect(one);
        written.push(...(await readRedis(client, place)));
        await client.save();
        client.disconnect();
        await one.redis.kill('SIGTERM');
        written.push(...readFiles(below(data), `files of ${place}`));
      }
      written.push(...readFiles(below('state'), 'state file'));
      written.push({ place: 'traces', bytes: readFileSync(below('spans.jsonl')) });
    },
  };
}
