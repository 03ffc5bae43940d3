import type { Socket } from 'node:net';

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
