import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { type EmulatedAnswer, jsonAnswer, refusalAnswer } from './service/answer.ts';
import { control, controlGate } from './control-api.ts';
import type { EmulatorControls } from './controls.ts';
import { readBody, waitFor, writeAnswer } from './exchange.ts';
import type { FaultList } from './faults/fault-list.ts';
import type { EmulatedCall, MessagingService } from './service/messaging-service.ts';
import { playFault } from './faults/play-fault.ts';
import { resetConnection } from './faults/reset-connection.ts';
import { type EmulatedRoute, routeOf } from './routes.ts';

/** The parts of the emulator. */
export interface Parts {
  readonly service: MessagingService;
  readonly faults: FaultList;
  readonly controls: EmulatorControls;
  readonly latencyMs: number;
  readonly controlKey: string | undefined;
  /** Whether the emulator listens on loopback only. */
  readonly onLoopback: boolean;
}

/** Serves one HTTP request. */
export async function serve(
  parts: Parts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const route = routeOf(request.method ?? '', request.url ?? '');
  switch (route.kind) {
    case 'token':
    case 'send':
      await serveCall(parts, route, request, response);
      return;
    case 'control':
      await serveControl(parts, route, request, response);
      return;
    case 'wrong-method':
      writeAnswer(response, withAllow(refusalAnswer('METHOD_NOT_ALLOWED')));
      return;
    case 'unknown':
      writeAnswer(response, refusalAnswer('NOT_FOUND'));
  }
}

type CallRoute = Extract<EmulatedRoute, { kind: 'token' | 'send' }>;
type ControlRoute = Extract<EmulatedRoute, { kind: 'control' }>;

async function serveCall(
  { service, faults, latencyMs }: Parts,
  route: CallRoute,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // A body is read only for a fault that depends on it: a reset may come before it.
  const bodyFirst = faults.needsBody(route.kind) ? await readBody(request) : undefined;
  const fault = faults.next(route.kind, Buffer.isBuffer(bodyFirst) ? bodyFirst : undefined);
  if (fault?.reset === 'before-read') {
    await waitFor(latencyMs + (fault.latencyMs ?? 0));
    resetConnection(request.socket);
    return;
  }
  const body = bodyFirst ?? (await readBody(request));
  if (body === 'gone') return;
  if (body === 'too-large') {
    writeAnswer(response, refusalAnswer('PAYLOAD_TOO_LARGE'));
    return;
  }
  const call: EmulatedCall = {
    version: route.version,
    authorization: request.headers.authorization,
    contentType: request.headers['content-type'],
    address: request.socket.remoteAddress ?? '',
    body,
  };
  const act = () => (route.kind === 'token' ? service.issue(call) : service.send(call));
  if (fault !== undefined) {
    await playFault(fault, request, response, act, latencyMs);
    return;
  }
  const answer = act();
  if (latencyMs > 0) await waitFor(latencyMs);
  writeAnswer(response, answer);
}

async function serveControl(
  { controls, controlKey, onLoopback }: Parts,
  { path, query }: ControlRoute,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const method = request.method ?? '';
  // Without a key, so that a health check of a container does not need it.
  if (path === 'health' && method === 'GET') {
    writeAnswer(response, jsonAnswer(200, 'SUCCESS', { status: 'ok' }));
    return;
  }
  const key = request.headers['x-control-key'];
  const closed = controlGate(controlKey, onLoopback, typeof key === 'string' ? key : undefined);
  if (closed !== undefined) {
    writeAnswer(response, refusalAnswer(closed));
    return;
  }
  const body = await readBody(request);
  if (body === 'gone') return;
  if (body === 'too-large') {
    writeAnswer(response, refusalAnswer('PAYLOAD_TOO_LARGE'));
    return;
  }
  const answer = control(controls, { method, path, query, body: body.toString('utf8') });
  if ('lines' in answer) writeLines(response, answer.lines);
  else writeAnswer(response, answer);
}

function withAllow(answer: EmulatedAnswer): EmulatedAnswer {
  return { ...answer, headers: { ...answer.headers, allow: 'POST' } };
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
