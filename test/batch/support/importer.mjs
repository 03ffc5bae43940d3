// One import in a process of its own, to be killed at any moment. It is started by plain node and
// runs on the built files; their types are those of the sources.
import { Redis } from 'ioredis';

const built = new URL('../../../dist/src/index.js', import.meta.url).href;
const { NoticeQueue } = /** @type {typeof import('../../../src/index.ts')} */ (await import(built));

const [url, prefix = '', file = '', highWater = '1000000', commands = 'Infinity'] =
  process.argv.slice(2);

// Kills itself once Redis has executed so many commands, those of connecting not counted.
// eslint-disable-next-line @typescript-eslint/unbound-method
const send = Redis.prototype.sendCommand;
const counted = new Set();
Redis.prototype.sendCommand = function sendCounted(command, stream) {
  const isOfConnecting = /^(?:hello|auth|info|client|select|config|script)$/i.test(command.name);
  // One that waits for the connection comes twice.
  if (!isOfConnecting) counted.add(command);
  if (counted.size > Number(commands)) return command.promise;
  if (counted.size === Number(commands) && !isOfConnecting) {
    void command.promise.finally(() => process.kill(process.pid, 'SIGKILL'));
  }
  return send.call(this, command, stream);
};

const queue = new NoticeQueue({ redis: { url }, prefix });
await queue.import(file, { templateCode: 'T', chunkSize: 100, highWater: Number(highWater) });
await queue.close();
