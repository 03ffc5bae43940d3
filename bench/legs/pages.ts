import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { loadConfig } from '../../src/config/config.ts';
import type { Contact } from '../../src/contracts/notice.ts';
import { newApiKey } from '../../src/ops/web/access/accounts.ts';
import { openOps } from '../../src/ops/web/ops-context.ts';
import { OPS_ROUTES } from '../../src/ops/web/http/route-table.ts';
import { buildOpsServer } from '../../src/ops/web/server.ts';
import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import { spreadOf } from '../harness/spread.ts';
import type { Stage } from '../harness/stage.ts';
import { CHUNK_SIZE, chunkAt, notices } from '../work.ts';

/** How long the ops server takes for a page while so many jobs wait. */
export interface PageTime {
  readonly page: string;
  readonly jobs: number;
  readonly medianMs: number;
  readonly worstMs: number;
}

const ADD_AT_ONCE = 1_000;
const LOOKS = 20;
const BATCH = 'bench-pages';
const BATCH_CHUNKS = 100;
/** The board's pages are its own files; this is what they ask for. */
const BOARD = '/queues/api/queues?activeQueue=send&status=waiting&page=1&jobsPerPage=10';

/**
 * Asks for every page of the ops server over HTTP, one after the other, while jobs wait and a batch
 * is being sent. The server shares this process with the one that asks, so a time has both in it.
 */
export async function pageTimes(stage: Stage, sizes: readonly number[]): Promise<PageTime[]> {
  const prefix = 'bench';
  const redis = { url: stage.redisUrl };
  const queue = new NoticeQueue({ redis, prefix, enqueueTimeoutMs: 30_000 });
  const viewer = newApiKey('bench', 'viewer');
  const config = loadConfig(
    {
      REDIS_URL: stage.redisUrl,
      REDIS_PREFIX: prefix,
      OPS_API_KEYS: viewer.entry,
      OPS_SESSION_KEY: randomBytes(24).toString('base64url'),
    },
    { service: false },
  );
  const { context, close } = await openOps(config, pino({ level: 'silent' }));
  const app = await buildOpsServer(context);
  const all: PageTime[] = [];
  try {
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const headers = { authorization: `Bearer ${viewer.key}`, accept: 'text/html' };
    const options = { templateCode: 'PAGES', batchId: BATCH, chunkSize: CHUNK_SIZE };
    await queue.import(list(), options);
    let waiting = 0;
    for (const jobs of sizes) {
      for (; waiting < jobs; waiting += ADD_AT_ONCE) {
        await queue.sendMany(notices(Math.min(ADD_AT_ONCE, jobs - waiting), waiting));
      }
      for (const page of pages()) {
        const times = await timesOf(`${url}${page}`, headers);
        const { median, max } = spreadOf(times);
        all.push({ page: page.replace(/\?.*/, ''), jobs, medianMs: median, worstMs: max });
      }
    }
  } finally {
    await app.close();
    await close();
    await queue.close();
  }
  return all;
}

function* list(): Generator<Contact, void> {
  for (let chunk = 0; chunk < BATCH_CHUNKS; chunk++) yield* chunkAt(chunk);
}

function pages(): string[] {
  const ours = OPS_ROUTES.filter(
    ({ kind, method, needs }) => kind === 'page' && method === 'GET' && needs === 'viewer',
  );
  return [...ours.map(({ path }) => path.replace(':id', BATCH)), BOARD];
}

/** The first look is not counted: it loads what is loaded once. */
async function timesOf(url: string, headers: Readonly<Record<string, string>>): Promise<number[]> {
  const times: number[] = [];
  for (let look = 0; look <= LOOKS; look++) {
    const begun = performance.now();
    const answer = await fetch(url, { headers });
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`${new URL(url).pathname} answered ${answer.status}`);
    if (look > 0) times.push(performance.now() - begun);
  }
  return times;
}
