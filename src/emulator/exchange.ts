import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import type { EmulatedAnswer } from './service/answer.ts';

/** The body of a request; `gone` when the caller disconnected, `too-large` above the limit. */
export type ReadBody = Buffer | 'gone' | 'too-large';

/** Largest body that is read: 64 MiB. */
const MAX_BODY_BYTES = 67_108_864;
const NOTHING = Buffer.alloc(0);

export function readBody(request: IncomingMessage): Promise<ReadBody> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
      else resolve('too-large');
    });
    request.on('end', () => {
      const [only = NOTHING] = chunks;
      resolve(chunks.length <= 1 ? only : Buffer.concat(chunks));
    });
    // Callers that disconnect are normal; without these listeners they would crash the process.
    request.on('error', () => resolve('gone'));
    request.on('close', () => resolve('gone'));
  });
}

/** @param length of the body, as it is announced */
export function writeHead(response: ServerResponse, answer: EmulatedAnswer, length: number): void {
  response.writeHead(answer.status, { ...answer.headers, 'content-length': length });
}

export function writeAnswer(response: ServerResponse, answer: EmulatedAnswer): void {
  writeHead(response, answer, Buffer.byteLength(answer.body));
  response.end(answer.body);
}

/** Waits without keeping the process alive; resolves at once for 0. */
export async function waitFor(milliseconds: number): Promise<void> {
  if (milliseconds > 0) await setTimeout(milliseconds, undefined, { ref: false });
}

/**
 * Ends a connection by a TCP reset.
 *
 * Node refuses to reset a socket whose end is being sent (EINVAL), never closes it then, and its event loop
 * is busy from then on; such a socket is closed instead.
 */
export function resetConnection(socket: Socket): void {
  if (socket.writableEnded && !socket.writableFinished) socket.destroy();
  else socket.resetAndDestroy();
}
