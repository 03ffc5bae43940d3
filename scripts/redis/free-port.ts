import { createServer } from 'node:net';

/**
 * A loopback port that nobody listens on now. Somebody may take it before it is used, so the caller
 * tries again with another one.
 */
export async function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
