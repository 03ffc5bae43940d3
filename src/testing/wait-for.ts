/** How long and how often {@link waitFor} looks. */
export interface WaitOptions {
  /** Milliseconds until it gives up. @default 10000 */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds between two looks. @default 20 */
  readonly everyMs?: number | undefined;
}

/**
 * Looks again and again until the function returns something truthy, and returns that.
 *
 * @example
 * await waitFor(async () => (await notices.get(id)).state === 'accepted');
 * @throws Error with what was seen last, when the time is over; what the function throws, at once
 */
export async function waitFor<Seen>(
  look: () => Seen | Promise<Seen>,
  { timeoutMs = 10_000, everyMs = 20 }: WaitOptions = {},
): Promise<Exclude<Seen, false | 0 | '' | null | undefined>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const seen = await look();
    if (seen) return seen as Exclude<Seen, false | 0 | '' | null | undefined>;
    if (performance.now() >= deadline) {
      throw new Error(`waited ${timeoutMs} ms; seen last: ${JSON.stringify(seen)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
