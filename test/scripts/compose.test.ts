import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { OPTION_NAMES, optionOf } from '../../src/config/options.ts';

const compose = readFileSync('docker-compose.yml', 'utf8');

/** The file's own Redis makes these pointless, or they name a file that nobody mounted. */
const NOT_HANDED_ON: ReadonlySet<string> = new Set([
  'REDIS_USERNAME',
  'REDIS_PASSWORD',
  'REDIS_SENTINELS',
  'REDIS_SENTINEL_NAME',
  'REDIS_SENTINEL_PASSWORD',
  'REDIS_CLUSTER',
  'REDIS_TLS_CA_FILE',
  'TLS_CA_FILE',
]);

it('docker-compose.yml hands every option to the worker', () => {
  const worker = /\n {2}worker:\n[\s\S]*?(?=\n {2}\S)/.exec(compose)?.[0] ?? '';
  const handedOn = new Set(
    [...worker.matchAll(/^ {6}([A-Z][A-Z0-9_]*):/gm)].map(([, name]) => name),
  );
  expect(handedOn).toEqual(new Set(OPTION_NAMES.filter((name) => !NOT_HANDED_ON.has(name))));
});

it('docker-compose.yml gives a worker longer to stop than it takes', () => {
  const grace = /stop_grace_period: (\d+)s/.exec(compose)?.[1];
  const option = optionOf('SHUTDOWN_TIMEOUT_MS');
  const takes = option.kind === 'integer' ? option.default : Number.NaN;
  expect(Number(grace) * 1_000).toBeGreaterThan(takes);
});
