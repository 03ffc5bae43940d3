import type { ChildProcess } from 'node:child_process';
import type { HealthSource } from './health-server.ts';
import type { Unready } from './readiness.ts';

export interface ChildHealth {
  readonly reasons: readonly Unready[];
  readonly metrics: string;
}

type Message =
  | { readonly health: 'ask'; readonly id: number }
  | ({ readonly health: 'answer'; readonly id: number } & ChildHealth);

function isMessage(value: unknown): value is Message {
  return typeof value === 'object' && value !== null && 'health' in value && 'id' in value;
}

/** In a child process: answers each request of the supervisor. */
export function answerSupervisor(source: HealthSource): void {
  const answer = async (id: number) => {
    const [reasons, metrics] = await Promise.all([source.reasons(), source.metrics()]);
    // Errors are ignored: the supervisor has died.
    process.send?.({ health: 'answer', id, reasons, metrics }, undefined, undefined, () => {});
  };
  process.on('message', (message) => {
    if (isMessage(message) && message.health === 'ask') answer(message.id).catch(() => {});
  });
}

let lastId = 0;

/**
 * In a supervisor: requests the health of a child process.
 * @returns undefined when it did not answer within `timeoutMs`
 */
export async function askChild(
  child: ChildProcess,
  timeoutMs: number,
): Promise<ChildHealth | undefined> {
  const id = (lastId += 1);
  return new Promise((resolve) => {
    const settle = (health: ChildHealth | undefined) => {
      clearTimeout(timer);
      child.off('message', onMessage);
      child.off('exit', onExit);
      resolve(health);
    };
    const onMessage = (message: unknown) => {
      if (isMessage(message) && message.health === 'answer' && message.id === id) settle(message);
    };
    const onExit = () => settle(undefined);
    const timer = setTimeout(() => settle(undefined), timeoutMs);
    child.on('message', onMessage);
    child.on('exit', onExit);
    child.send({ health: 'ask', id }, (error) => {
      if (error !== null) settle(undefined);
    });
  });
}
