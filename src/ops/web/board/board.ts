import { createBullBoard } from '@bull-board/api';
import type { IServerAdapter } from '@bull-board/api/typings/app';
import { FastifyAdapter } from '@bull-board/fastify';
import type { FastifyInstance } from 'fastify';
import { reads } from '../access/authorize.ts';
import type { Needs } from '../access/identity.ts';
import { NoticeQueueError } from '../../../contracts/errors.ts';
import { redisFailure } from '../../../redis/failure.ts';
import { assetPath } from '../assets.ts';
import type { OpsContext } from '../ops-context.ts';
import { problemOf } from '../http/problem.ts';
import { MaskedQueue } from './masked-queue.ts';

const BOARD_PATH = '/queues';

/** Whether a path belongs to the board, which has its own content security policy. */
export function isBoard(url: string): boolean {
  return url === BOARD_PATH || url.startsWith(`${BOARD_PATH}/`) || url.startsWith(`${BOARD_PATH}?`);
}

/** The role that a route of the board needs; routes that change something are closed. */
export function boardNeeds(method: string | readonly string[]): Needs {
  return [method].flat().every(reads) ? 'viewer' : 'closed';
}

/** Links from the board back to the pages, relative to its base: a proxy may show the server below a path. */
const BACK_LINKS = [
  { text: 'Overview', url: '../' },
  { text: 'Batches', url: '../batches' },
  { text: 'Not accepted', url: '../notices' },
];

/** Seconds between two polls of the board; each costs some forty commands per queue. */
const POLL_S = 10;

/**
 * Registers the queue board of BullMQ, read-only and without phone numbers. Its changes would bypass
 * the ledger and the hold, so no role may make them.
 */
export async function registerBoard(
  app: FastifyInstance,
  { sendQueue, chunkQueue, redisWatch }: OpsContext,
): Promise<void> {
  const queues = [sendQueue, chunkQueue].map((queue) => new MaskedQueue(queue));
  const serverAdapter = new FastifyAdapter();
  createBullBoard({
    queues,
    // The adapter has its own copy of the board's types.
    serverAdapter: serverAdapter as unknown as IServerAdapter,
    options: {
      uiConfig: {
        boardTitle: 'Queues',
        // A menu in the header of the board; the documentation that it links is on another host.
        miscLinks: BACK_LINKS,
        hideDocsLink: true,
        hideRedisDetails: true,
        showWorkers: false,
        pollingInterval: { forceInterval: POLL_S },
      },
    },
  });
  serverAdapter.setBasePath(BOARD_PATH);
  // Its default answer is the message of the error.
  serverAdapter.setErrorHandler((error) => {
    // A path that its static files refuse leads nowhere; all others are of Redis.
    const { statusCode = 500 } = error as { statusCode?: number };
    const cause = statusCode < 500 ? new NoticeQueueError('NOT_FOUND') : redisFailure(error);
    const { status, title, detail } = problemOf(cause, redisWatch.explain());
    // Its type allows only some statuses.
    return { status: status as 500, body: { error: title, message: detail } };
  });
  await app.register(async (scope) => {
    scope.addHook('onSend', (_request, reply, payload, done) => {
      const isPage = String(reply.getHeader('content-type')).startsWith('text/html');
      done(null, isPage && typeof payload === 'string' ? readable(payload) : payload);
    });
    await scope.register(serverAdapter.registerPlugin(), { prefix: BOARD_PATH });
  });
}

/** An element that loads a file from another host. */
const EXTERNAL =
  /<(?:link|script|img|iframe|source)\b[^>]*\s(?:href|src|srcset)\s*=\s*["']?\s*(?:https?:)?\/\/[^>]*>(?:\s*<\/(?:script|iframe)>)?/gi;

/**
 * Removes elements that load from other hosts: the board loads a font, which the content security
 * policy blocks with an error in the browser console. Adds names of buttons, and contrast.
 */
function readable(page: string): string {
  return page.replaceAll(EXTERNAL, '').replace('</head>', `${READABLE}</head>`);
}

const READABLE = `<style>kbd, [class*='flagAlert'] { color: inherit !important; }</style>
<script type="module" src="..${assetPath('board.js')}"></script>`;
