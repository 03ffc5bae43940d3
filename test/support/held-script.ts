import type { Redis } from 'ioredis';
import { signal } from './wait.ts';

/** A script that Redis has run or will run, and whose reply is kept back. */
interface HeldScript {
  /** Resolves when Redis has answered. */
  readonly answered: Promise<void>;
  /** Hands the reply on. */
  letGo(): void;
}

/** Keeps the reply of the client's next script back. Redis must hold the script already. */
export function holdNextScript(client: Redis): HeldScript {
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
  return { answered: answered.promise, letGo: () => free.resolve() };
}
