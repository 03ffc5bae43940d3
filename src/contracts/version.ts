import { createRequire } from 'node:module';

/** Version of this package. The built file is one folder deeper than its source. */
export const VERSION = readVersion(['../../package.json', '../../../package.json']);

function readVersion(places: readonly string[]): string {
  const require = createRequire(import.meta.url);
  for (const place of places) {
    try {
      const found = require(place) as { name?: string; version?: string };
      if (found.name === 'notice-queue' && found.version !== undefined) return found.version;
    } catch {
      // Try the next place.
    }
  }
  return 'unknown';
}
