import type { AttemptTokens } from './attempt.ts';

/** The same tokens, with the time that each wait for one took, however it ended. Milliseconds. */
export function timedTokens(tokens: AttemptTokens, onWait: (ms: number) => void): AttemptTokens {
  const timed = async <Result>(wait: () => Promise<Result>): Promise<Result> => {
    const startedAt = performance.now();
    try {
      return await wait();
    } finally {
      onWait(performance.now() - startedAt);
    }
  };
  return {
    get: (signal) => timed(() => tokens.get(signal)),
    renew: (refused, status, signal) => timed(() => tokens.renew(refused, status, signal)),
    accepted: (token) => tokens.accepted(token),
    judge: (refused, status) => tokens.judge(refused, status),
  };
}
