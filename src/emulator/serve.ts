import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { jsonAnswer, refusalAnswer } from './service/answer.ts';
import { control, controlGate } from './control-api.ts';
import type { EmulatorControls } from './controls.ts';
import { type ReadBody, readBody, resetConnection, waitFor, writeAnswer } from './exchange.ts';
import type { FaultList } from './faults/fault-list.ts';
import type { EmulatedCall, MessagingService } from './service/messaging-service.ts';
import type { EmulatorSettings } from './options.ts';
import { playFault } from './faults/play-fault.ts';

export interface Parts {
  readonly service: MessagingService;
  readonly faults: FaultList;
  readonly controls: EmulatorControls;
  readonly settings: EmulatorSettings;
  /** Whether the emulator listens on loopback only. */
  readonly onLoopback: boolean;
}

/**
 * The paths of the service. Those of v2 are documented (service-api, Endpoints); issuance is
 * identical on v1, and the v1 send path mirrors v2 as services of this kind do.
 */
const PATH = /^\/api\/(v1|v2)\/(token|notices\/send)$/;

const CONTROL = '/control/';

export async function serve(
  parts: Parts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path = '', ...query] = (request.url ?? '').split('?');
  const [, version, name] = PATH.exec(path) ?? [];
  if (path.startsWith(CONTROL)) {
    const given = new URLSearchParams(query.join('?'));
    await serveControl(parts, path.slice(CONTROL.length), given, request, response);
  } else if (version === undefined) {
    writeAnswer(response, refusalAnswer('NOT_FOUND'));
  } else if (request.method !== 'POST') {
    response.setHeader('allow', 'POST');
    writeAnswer(response, refusalAnswer('METHOD_NOT_ALLOWED'));
  } else {
    const kind = name === 'token' ? name : 'send';
    await serveCall(parts, kind, version === 'v1' ? version : 'v2', request, response);
  }
}

async function serveCall(
  { service, faults, settings: { latencyMs } }: Parts,
  kind: 'token' | 'send',
  version: EmulatedCall['version'],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // A body is read only for a fault that depends on it: a reset may come before it.
  const bodyFirst = faults.needsBody(kind) ? await readBody(request) : undefined;
  const fault = faults.next(kind, Buffer.isBuffer(bodyFirst) ? bodyFirst : undefined);
  if (fault?.reset === 'before-read') {
    await waitFor(latencyMs + (fault.latencyMs ?? 0));
    resetConnection(request.socket);
    return;
  }
  const body = wholeBody(bodyFirst ?? (await readBody(request)), response);
  if (body === undefined) return;
  const call: EmulatedCall = {
    version,
    authorization: request.headers.authorization,
    contentType: request.headers['content-type'],
    address: request.socket.remoteAddress ?? '',
    body,
  };
  const act = () => (kind === 'token' ? service.issue(call) : service.send(call));
  if (fault !== undefined) {
    await playFault(fault, request, response, act, latencyMs);
    return;
  }
  const answer = act();
  if (latencyMs > 0) await waitFor(latencyMs);
  writeAnswer(response, answer);
}

async function serveControl(
  { controls, settings: { controlKey }, onLoopback }: Parts,
  path: string,
  query: URLSearchParams,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const method = request.method ?? '';
  // Without a key, so that a health check of a container does not need it.
  if (path === 'health' && method === 'GET') {
    writeAnswer(response, jsonAnswer(200, 'SUCCESS', { status: 'ok' }));
    return;
  }
  // A page of another site must not reach it under a name of its own.
  if (onLoopback && !/^(localhost|[\d.]+|\[.+\])(:\d+)?$/.test(request.headers.host ?? '')) {
    writeAnswer(response, refusalAnswer('HOST_NOT_ALLOWED'));
    return;
  }
  const key = request.headers['x-control-key'];
  const closed = controlGate(controlKey, onLoopback, typeof key === 'string' ? key : undefined);
  if (closed !== undefined) {
    writeAnswer(response, refusalAnswer(closed));
    return;
  }
  const body = wholeBody(await readBody(request), response);
  if (body === undefined) return;
  const answer = control(controls, method, path, query, body.toString('utf8'));
  if ('lines' in answer) writeLines(response, answer.lines);
  else writeAnswer(response, answer);
}

/** The body; undefined where the caller is gone, or was answered that it is too large. */
function wholeBody(body: ReadBody, response: ServerResponse): Buffer | undefined {
  if (body === 'too-large') writeAnswer(response, refusalAnswer('PAYLOAD_TOO_LARGE'));
  return Buffer.isBuffer(body) ? body : undefined;
}

const LINES_AT_ONCE = 1_000;

/** One JSON value per line, as fast as the caller reads. */
function writeLines(response: ServerResponse, lines: Iterable<unknown>): void {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  Readable.from(blocksOf(lines)).pipe(response);
}

function* blocksOf(lines: Iterable<unknown>): Generator<string, void> {
  let block: string[] = [];
  for (const line of lines) {
    block.push(`${JSON.stringify(line)}\n`);
    if (block.length < LINES_AT_ONCE) continue;
    yield block.join('');
    block = [];
  }
  if (block.length > 0) yield block.join('');
}
