import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { type EmulatedAnswer, errorBody } from '../service/answer.ts';
import { resetConnection, waitFor, writeAnswer, writeHead } from '../exchange.ts';
import { actsUnder, type Fault } from './fault.ts';

/** Applies a fault to a request that was read. */
export async function playFault(
  fault: Fault,
  request: IncomingMessage,
  response: ServerResponse,
  act: () => EmulatedAnswer,
  latencyMs: number,
): Promise<void> {
  const real = actsUnder(fault) ? act() : undefined;
  await waitFor(latencyMs + (fault.latencyMs ?? 0));
  if (fault.hang !== undefined) return;
  if (fault.reset !== undefined) {
    resetConnection(request.socket);
    return;
  }
  if (fault.garbage !== undefined) {
    request.socket.write(fault.garbage);
    request.socket.destroySoon();
    return;
  }
  const answer = fault.status === undefined ? real : answerOf(fault, fault.status);
  if (answer !== undefined) await writeFaulty(fault, response, answer);
}

function answerOf(fault: Fault, status: number): EmulatedAnswer {
  const headers: Record<string, string> = {};
  let body = '';
  if (fault.bodyText !== undefined) {
    headers['content-type'] = 'text/plain; charset=utf-8';
    body = fault.bodyText;
  } else if (fault.code !== undefined || fault.body !== undefined) {
    headers['content-type'] = 'application/json; charset=utf-8';
    body =
      fault.code === undefined
        ? JSON.stringify(fault.body)
        : errorBody(fault.code, 'A fault asked for this answer.');
  }
  if (fault.retryAfter !== undefined) headers['retry-after'] = String(fault.retryAfter);
  for (const [name, value] of Object.entries(fault.headers ?? {})) {
    headers[name.toLowerCase()] = value;
  }
  return { status, code: fault.code ?? 'FAULT', headers, body };
}

async function writeFaulty(
  { slowBody, truncate, hugeBody }: Fault,
  response: ServerResponse,
  answer: EmulatedAnswer,
): Promise<void> {
  const body = Buffer.from(answer.body);
  if (slowBody !== undefined) {
    writeHead(response, answer, body.length);
    response.flushHeaders();
    for (let at = 0; at < body.length && !response.destroyed; at += slowBody.bytes) {
      await waitFor(slowBody.everyMs);
      response.write(body.subarray(at, at + slowBody.bytes));
    }
    response.end();
  } else if (truncate !== undefined) {
    // At least one byte is missing; otherwise the response would be complete.
    const sent = body.subarray(0, Math.min(truncate, Math.max(body.length - 1, 0)));
    writeHead(response, answer, Math.max(body.length, 1));
    response.flushHeaders();
    response.write(sent, () => response.socket?.destroySoon());
  } else if (hugeBody !== undefined) {
    const total = Math.max(hugeBody, body.length);
    writeHead(response, answer, total);
    Readable.from(padded(body, total)).pipe(response);
  } else {
    writeAnswer(response, answer);
  }
}

const SPACES = Buffer.alloc(65_536, ' ');

function* padded(body: Buffer, total: number): Generator<Buffer, void> {
  yield body;
  for (let left = total - body.length; left > 0; left -= SPACES.length) {
    yield SPACES.subarray(0, left);
  }
}
