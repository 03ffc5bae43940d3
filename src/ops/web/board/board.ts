import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import type { IServerAdapter } from '@bull-board/api/typings/app';
import { FastifyAdapter } from '@bull-board/fastify';
import type { FastifyInstance } from 'fastify';
import { reads } from '../access/authorize.ts';
import type { Needs } from '../access/identity.ts';
import { redisFailure } from '../../../redis/failure.ts';
import type { OpsContext } from '../ops-context.ts';
import { problemOf } from '../http/problem.ts';
import { showJob } from './show-job.ts';

/** Where the board of the queues is. */
const BOARD_PATH = '/queues';

/** Whether a path belongs to the board, which has a policy of its own. */
export function isBoard(url: string): boolean {
  return url === BOARD_PATH || url.startsWith(`${BOARD_PATH}/`) || url.startsWith(`${BOARD_PATH}?`);
}

/** Who may call a route of the board: what changes something, nobody. */
export function boardNeeds(method: string | readonly string[]): Needs {
  return [method].flat().every(reads) ? 'viewer' : 'nobody';
}

/** Seconds between two looks of the board; each costs some forty commands a queue. */
const POLL_S = 10;

/**
 * BullMQ's own board, to look and not to touch: jobs without numbers, read-only. What it would change
 * goes past the ledger and the hold, so no role may.
 */
export async function registerBoard(
  app: FastifyInstance,
  { sendQueue, chunkQueue, redisWatch }: OpsContext,
): Promise<void> {
  const queues = [sendQueue, chunkQueue].map((queue) => {
    const adapter = new BullMQAdapter(queue, { readOnlyMode: true });
    adapter.setFormatter('data', showJob);
    adapter.setFormatter('returnValue', showJob);
    adapter.setFormatter('progress', showJob);
    return adapter;
  });
  const serverAdapter = new FastifyAdapter();
  createBullBoard({
    queues,
    // The adapter brings a copy of the board's types of its own.
    serverAdapter: serverAdapter as unknown as IServerAdapter,
    options: {
      uiConfig: {
        boardTitle: 'Queues',
        hideRedisDetails: true,
        showWorkers: false,
        pollingInterval: { forceInterval: POLL_S },
      },
    },
  });
  serverAdapter.setBasePath(BOARD_PATH);
  // Its own answer would be the message of whatever was thrown.
  serverAdapter.setErrorHandler((error) => {
    const { status, title, detail } = problemOf(redisFailure(error), redisWatch.explain());
    // Its type knows fewer statuses than HTTP.
    return { status: status as 500, body: { error: title, message: detail } };
  });
  await app.register(async (scope) => {
    scope.addHook('onSend', (_request, reply, payload, done) => {
      const isPage = String(reply.getHeader('content-type')).startsWith('text/html');
      done(null, isPage && typeof payload === 'string' ? withoutElsewhere(payload) : payload);
    });
    await scope.register(serverAdapter.registerPlugin(), { prefix: BOARD_PATH });
  });
}

/** An element that loads something from another host. */
const ELSEWHERE =
  /<(?:link|script|img|iframe|source)\b[^>]*\s(?:href|src|srcset)\s*=\s*["']?\s*(?:https?:)?\/\/[^>]*>(?:\s*<\/(?:script|iframe)>)?/gi;

/**
 * The board's page asks for a font elsewhere. The policy would refuse it, and every visitor's console
 * would say so.
 */
function withoutElsewhere(page: string): string {
  return page.replaceAll(ELSEWHERE, '');
}
