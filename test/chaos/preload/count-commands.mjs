/// <reference types="node" />
// Loaded into a worker before anything else (NODE_OPTIONS=--import): each second it says on standard output
// how many commands the process has handed to its connections to Redis, and in how many milliseconds.
import { Redis } from 'ioredis';

const EVERY_MS = 1_000;

let commands = 0;
let since = performance.now();

const sendCommand = /** @type {() => unknown} */ (Reflect.get(Redis.prototype, 'sendCommand'));
const counted = new Proxy(sendCommand, {
  apply(target, redis, args) {
    commands += 1;
    const answer = /** @type {unknown} */ (Reflect.apply(target, redis, args));
    return answer;
  },
});
Reflect.set(Redis.prototype, 'sendCommand', counted);

setInterval(() => {
  const now = performance.now();
  // The wall clock of a worker may be wrong on purpose.
  const line = {
    event: 'redis-commands',
    at: performance.timeOrigin + now,
    ms: now - since,
    commands,
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  commands = 0;
  since = now;
}, EVERY_MS).unref();
