import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { leaksOf } from './support/allowed.ts';
import { readPlanted, type Planted } from './support/planted.ts';
import { readFiles } from './support/read-redis.ts';
import { CanarySearch } from './support/search.ts';

/** The folder in which scripts/compose-smoke.sh leaves what it planted, and what came of it. */
const SMOKE = process.env['COMPOSE_SMOKE'] ?? '';

describe.runIf(SMOKE !== '')('secrets, numbers and values that lie in a checkout', () => {
  let planted: Planted;
  let ofPlanted: CanarySearch;

  beforeAll(() => {
    planted = readPlanted(path.join(SMOKE, 'checkout'));
    ofPlanted = new CanarySearch(planted.canaries);
  });

  it('are found where they were planted', () => {
    const found = new Set(ofPlanted.in(planted.files).map(({ canary }) => canary));
    expect(found).toEqual(new Set(planted.canaries.map(({ name }) => name)));
    expect(found.size).toBeGreaterThan(30);
  });

  it('are in no log, environment or argument of a container', () => {
    const written = readFiles(path.join(SMOKE, 'left'), 'containers');
    const text = written.map(({ bytes }) => bytes.toString()).join('\n');
    // Logs, environment, arguments, processes and output were searched, not empty files.
    for (const part of ['accepted', 'NODE_ENV=production', '/deploy/start.sh', 'PID']) {
      expect(text).toContain(part);
    }
    expect(leaksOf(ofPlanted.in(written))).toEqual([]);
  });
});
