/**
 * Waits for a promise, but no longer than `ms` milliseconds. What the promise does goes on by itself
 * afterwards; a rejection that comes after the timeout is dropped.
 *
 * @param otherwise the answer when the time is over first
 * @throws what the promise rejects with before the timeout
 */
export async function withTimeout<Result, Otherwise>(
  promise: Promise<Result>,
  ms: number,
  otherwise: Otherwise,
): Promise<Result | Otherwise> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<Otherwise>((resolve) => {
    timer = setTimeout(() => resolve(otherwise), ms);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
