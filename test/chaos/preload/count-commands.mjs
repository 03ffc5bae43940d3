/// <reference types="node" />
// Loaded into a worker before anything else (NODE_OPTIONS=--import): each second it says on standard output
// how many commands the process has handed to its connections to Redis, in how many milliseconds, and how many jobs
// have left a probe to others (`enterHold` answered `aside`).
import { Redis } from 'ioredis';

const EVERY_MS = 1_000;

let commands = 0;
let aside = 0;
let since = performance.now();

const sendCommand = /** @type {() => unknown} */ (Reflect.get(Redis.prototype, 'sendCommand'));
const counted = new Proxy(sendCommand, {
  apply(target, redis, args) {
    commands += 1;
    const [command] = /** @type {[import('ioredis').Command]} */ (args);
    const { resolve } = command;
    // Its promise is left alone: a handler here would hide a rejection that the program does not handle.
    command.resolve = (reply) => {
      if (Array.isArray(reply) && String(reply[0]) === 'aside') aside += 1;
      resolve(reply);
    };
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
    aside,
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  commands = 0;
  aside = 0;
  since = now;
}, EVERY_MS).unref();
