/// <reference types="node" />
// Loaded into a worker before anything else (NODE_OPTIONS=--import): its connections to the service come from FROM_ADDRESS.
import { Socket } from 'node:net';

const localAddress = process.env['FROM_ADDRESS'];
const { port } = new URL(process.env['BASE_URL'] ?? '');
/** @type {(this: Socket, ...given: unknown[]) => Socket} */
const connect = Reflect.get(Socket.prototype, 'connect');

/**
 * @this {Socket}
 * @param {unknown[]} given
 */
function connectFrom(...given) {
  /** @type {unknown} */
  const options = Array.isArray(given[0]) ? given[0][0] : given[0];
  if (typeof options === 'object' && options !== null && 'port' in options) {
    if (String(options.port) === port) Object.assign(options, { localAddress });
  }
  return connect.apply(this, given);
}

Reflect.set(Socket.prototype, 'connect', connectFrom);
