import type { Redis } from 'ioredis';
import { signal } from './wait.ts';

/** Keeps the reply of the client's next script back. Redis must hold the script already. */
export function holdNextScript(client: Redis) {
  const [answered, free] = [signal(), signal()];
  const run = client.evalsha.bind(client) as (...args: unknown[]) => Promise<unknown>;
  const value = async (...args: unknown[]) => {
    Reflect.deleteProperty(client, 'evalsha');
    const reply = await run(...args);
    answered.resolve();
    await free.promise;
    return reply;
  };
  Object.defineProperty(client, 'evalsha', { value, configurable: true });
  return {
    /** Resolves when Redis has answered. */
    answered: answered.promise,
    /** Hands the reply on. */
    letGo: () => free.resolve(),
  };
}
