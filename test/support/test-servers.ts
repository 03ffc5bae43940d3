/** The Redis servers of a project, one for each worker of vitest. */
export interface TestServers {
  readonly urls: readonly string[];
  /** Where a worker notes which of them is its own: see `claimOne`. */
  readonly claims: string;
  /** False where REDIS_URL named it: others may use it, so nothing of theirs is counted. */
  readonly areOurs: boolean;
}

declare module 'vitest' {
  export interface ProvidedContext {
    /** A tier without Redis is given none. */
    redis: TestServers;
  }
}
