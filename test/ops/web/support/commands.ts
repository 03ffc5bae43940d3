import { Redis } from 'ioredis';

/** Bookkeeping of connections, and what the count itself costs. */
const NOT_COUNTED = new Set(['info', 'hello', 'client', 'auth', 'select', 'ping']);

/**
 * Commands that a server of the test's own has run so far, by name, those inside scripts among them: subcommands, which
 * the server counts apart, are one sum. `INFO` is left out because the count asks it, and so are connections being made.
 */
export async function commandsByName(url: string): Promise<[string, number][]> {
  const redis = new Redis(url);
  try {
    const lines = (await redis.info('commandstats')).matchAll(
      /^cmdstat_([^:|]+)\S*?:calls=(\d+)/gm,
    );
    const sums = new Map<string, number>();
    for (const [, name = '', calls] of lines) {
      if (!NOT_COUNTED.has(name)) sums.set(name, (sums.get(name) ?? 0) + Number(calls));
    }
    return [...sums];
  } finally {
    redis.disconnect();
  }
}

/** How often a server of the test's own ran each command during some work. */
export async function commandsDuring(url: string, work: () => Promise<unknown>) {
  const before = new Map(await commandsByName(url));
  await work();
  return Object.fromEntries(
    (await commandsByName(url))
      .map(([name, calls]) => [name, calls - (before.get(name) ?? 0)] as const)
      .filter(([, calls]) => calls > 0),
  );
}
