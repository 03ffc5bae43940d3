/** How long and how often {@link until} looks. */
export interface UntilOptions {
  /** What is awaited, for the message when it does not come. */
  readonly what: string;
  /** Milliseconds until it gives up. Default: 10,000. */
  readonly deadlineMs?: number;
  /** Milliseconds between two looks. Default: 20. */
  readonly everyMs?: number;
}

type Falsy = false | 0 | '' | null | undefined;

/**
 * Looks again and again until the predicate answers something truthy, and returns that. An error of
 * the predicate ends the wait at once.
 *
 * @throws Error that says what was awaited and what was seen last, when the deadline passes
 */
export async function until<T>(
  predicate: () => T | Promise<T>,
  { what, deadlineMs = 10_000, everyMs = 20 }: UntilOptions,
): Promise<Exclude<T, Falsy>> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const seen = await predicate();
    if (isTruthy(seen)) return seen;
    if (performance.now() >= deadline) {
      throw new Error(`waited ${deadlineMs} ms for ${what}; seen last: ${JSON.stringify(seen)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

function isTruthy<T>(value: T): value is Exclude<T, Falsy> {
  return Boolean(value);
}

/** A promise that is settled from outside: what a test waits on instead of sleeping. */
export interface Signal<T> {
  readonly promise: Promise<T>;
  /** True once it was resolved or rejected. */
  readonly settled: boolean;
  resolve(value: T): void;
  reject(error: Error): void;
}

/** Makes a {@link Signal}. */
export function signal<T = void>(): Signal<T> {
  let settled = false;
  let settle: { resolve: (value: T) => void; reject: (error: Error) => void } | undefined;
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return {
    promise,
    get settled() {
      return settled;
    },
    resolve(value) {
      settled = true;
      settle?.resolve(value);
    },
    reject(error) {
      settled = true;
      settle?.reject(error);
    },
  };
}
