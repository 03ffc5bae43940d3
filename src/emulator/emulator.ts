import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { isIPv6, type Socket } from 'node:net';
import { refusalAnswer } from './service/answer.ts';
import { controlsOf, type EmulatorControls } from './controls.ts';
import { writeAnswer } from './exchange.ts';
import { FaultList } from './faults/fault-list.ts';
import { MessagingService } from './service/messaging-service.ts';
import { type EmulatorOptions, settingsFrom } from './options.ts';
import { type Parts, serve } from './serve.ts';

/** A running emulator. Its controls are also served over HTTP, under `/control/`. */
export interface Emulator extends EmulatorControls {
  /** Base URL for a client, such as `http://127.0.0.1:4010`. */
  readonly url: string;
  readonly port: number;
  /** Stops listening and closes every connection. Can be called repeatedly. */
  close(): Promise<void>;
}

/**
 * Starts an emulator of the messaging service: the documented endpoints, their rules and errors, a record
 * of everything it accepted, and fault injection. It keeps everything in memory.
 *
 * @throws TypeError or RangeError that names an invalid option; the error of Node.js when it
 * cannot listen on the address
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const settings = settingsFrom(options);
  const service = new MessagingService(settings);
  const faults = new FaultList();
  for (const fault of settings.faults) faults.add(fault);
  const controls = controlsOf(service, faults);

  const server = createServer();
  const { address, port } = await listen(server, settings.host, settings.port);
  const parts: Parts = { service, faults, controls, settings, onLoopback: isLoopback(address) };
  server.on('request', (request, response) => {
    serve(parts, request, response).catch(() => {
      if (response.headersSent) response.destroy();
      else writeAnswer(response, refusalAnswer('EMULATOR_FAILED'));
    });
  });
  return { ...controls, url: urlOf(address, port), port, close: closer(server) };
}

async function listen(server: Server, host: string, port: number) {
  server.listen({ host, port });
  await once(server, 'listening');
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new TypeError('host: not an address');
  return bound;
}

/** Tracks the sockets because a fault leaves some of them in a state that Node.js does not close. */
function closer(server: Server): () => Promise<void> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  let closed: Promise<void> | undefined;
  return () => {
    closed ??= new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
    return closed;
  };
}

export function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.') || address.startsWith('::ffff:127.');
}

function urlOf(address: string, port: number): string {
  const anywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const host = anywhere[address] ?? address;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
