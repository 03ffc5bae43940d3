import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import {
  formatAddress,
  hostRule,
  isLoopbackHost,
  type Address,
  type HostRule,
} from '../../src/format/plain-hosts.ts';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { METRICS_CONTENT_TYPE } from '../../src/metrics/fleet-metrics.ts';
import type { ProcessHealth } from './process-health.ts';
import type { Unready } from './readiness.ts';

type HealthSource = Pick<ProcessHealth, 'metrics' | 'reasons'>;

export interface HealthServer {
  readonly port: number;
  /** Stops at once and closes open connections. Safe to call twice. */
  close(): void;
}

interface HealthAnswer {
  readonly status: number;
  readonly type?: string;
  readonly text: string;
}

/** Longest time to receive a request, and of an idle connection. */
const TIMEOUT_MS = 5_000;
const MAX_CONNECTIONS = 100;

/**
 * Serves the health of a worker over plain HTTP, without authentication; no answer contains secrets or
 * personal data.
 *
 * - `/livez`: 200 while the process answers. A process that does not is blocked.
 * - `/readyz`: 200 when it can take and send jobs, else 503 with the reasons; as JSON when the request
 *   accepts that. A worker of a held queue is ready: it resumes by itself.
 * - `/metrics`: for Prometheus.
 *
 * The server does not keep the process alive, and a stop does not wait for it.
 * @param at port 0 takes a free port
 * @throws NoticeQueueError CONFIG_INVALID when it cannot listen there
 */
export async function startHealthServer(at: Address, source: HealthSource): Promise<HealthServer> {
  // Beyond this machine it is for a network that is trusted.
  const isOwnHost = hostRule([], isLoopbackHost(at.host), false);
  const server = createServer(
    { headersTimeout: TIMEOUT_MS, requestTimeout: TIMEOUT_MS, keepAliveTimeout: TIMEOUT_MS },
    (request, response) => {
      void respond(request, response, source, isOwnHost);
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.unref();
  server.listen(at.port, at.host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code } = error as { code?: unknown };
    throw new NoticeQueueError(
      'CONFIG_INVALID',
      `HEALTH_ADDRESS ${formatAddress(at)} cannot be listened on (${typeof code === 'string' ? code : 'unknown error'}).`,
    );
  }
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  source: HealthSource,
  isOwnHost: HostRule,
): Promise<void> {
  let answer: HealthAnswer;
  try {
    answer = isOwnHost(request.headers.host ?? '')
      ? await answerOf(request, source)
      : { status: 403, text: 'use the IP address or localhost\n' };
  } catch {
    answer = { status: 500, text: 'this failed\n' };
  }
  response.writeHead(answer.status, {
    'Content-Type': answer.type ?? 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(answer.text),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...(answer.status === 405 ? { Allow: 'GET, HEAD' } : {}),
  });
  response.end(request.method === 'HEAD' ? undefined : answer.text);
}

async function answerOf(
  { method, url = '/', headers }: IncomingMessage,
  source: HealthSource,
): Promise<HealthAnswer> {
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, text: 'only GET\n' };
  switch (url.split('?')[0]) {
    case '/livez':
      return { status: 200, text: 'alive\n' };
    case '/readyz':
      return readiness(source.reasons(), headers.accept?.includes('application/json') === true);
    case '/metrics':
      return { status: 200, type: METRICS_CONTENT_TYPE, text: await source.metrics() };
    default:
      return { status: 404, text: 'there are /livez, /readyz and /metrics\n' };
  }
}

export function readiness(reasons: readonly Unready[], json: boolean): HealthAnswer {
  const ready = reasons.length === 0;
  const status = ready ? 200 : 503;
  if (json) {
    const text = `${JSON.stringify({ ready, reasons })}\n`;
    return { status, type: 'application/json; charset=utf-8', text };
  }
  const lines = reasons.map(
    ({ reason, since }) => `not ready: ${reason}, since ${new Date(since).toISOString()}\n`,
  );
  return { status, text: ready ? 'ready\n' : lines.join('') };
}
