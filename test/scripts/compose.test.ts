import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/config.ts';
import { metadataOf } from '../../src/config/variable.ts';
import { ROWS, VARIABLE_GROUPS } from '../../src/config/variables.ts';

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
  'REDIS_TLS_CERT_FILE',
  'REDIS_TLS_KEY_FILE',
  'TLS_CA_FILE',
  'TLS_CERT_FILE',
  'TLS_KEY_FILE',
  'ANSWER_RULES_FILE',
]);

/** What the compose file says of one of its services. */
function serviceOf(name: string): string {
  return new RegExp(`\\n {2}${name}:\\n[\\s\\S]*?(?=\\n {2}\\S|\\n\\S)`).exec(compose)?.[0] ?? '';
}

/** Names of the variables that a service is handed. */
function handedTo(name: string): Set<string> {
  const found = serviceOf(name).matchAll(/^ {6}([A-Z][A-Z0-9_]*):/gm);
  return new Set([...found].map(([, variable]) => variable ?? ''));
}

const NAMES = ROWS.map(({ variable }) => variable);
const FORMER_NAMES = ROWS.flatMap((row) => metadataOf(row).formerly ?? []);

function namesOf(group: string): string[] {
  const rows = VARIABLE_GROUPS.find(({ title }) => title === group)?.rows ?? [];
  return rows.map(({ variable }) => variable);
}

const OPS = new Set(namesOf('Ops server'));

it('docker-compose.yml hands every option to the worker, but those of the ops server', () => {
  const meant = NAMES.filter((name) => !NOT_HANDED_ON.has(name) && !OPS.has(name));
  expect(handedTo('worker')).toEqual(new Set([...meant, ...FORMER_NAMES]));
});

it('docker-compose.yml hands the ops server its own options, and what a producer takes', () => {
  const handed = handedTo('ops');
  for (const name of [...OPS, ...namesOf('Queue'), 'REDIS_PREFIX', 'ACCOUNT']) {
    expect(handed).toContain(name);
  }
  expect(
    [...handed].filter((name) => ![...NAMES, ...FORMER_NAMES].some((known) => known === name)),
  ).toEqual([]);
});

it('docker-compose.yml gives a worker longer to stop than it takes', () => {
  const grace = /stop_grace_period: (\d+)s/.exec(compose)?.[1];
  const takes = loadConfig({}, { service: false }).worker.shutdownTimeoutMs;
  expect(Number(grace) * 1_000).toBeGreaterThan(takes);
});

it('docker-compose.yml is YAML that says what it looks like', () => {
  const { services } = parse(compose, { merge: true }) as {
    services: Record<string, { healthcheck?: { test?: unknown[] } }>;
  };
  expect(Object.keys(services)).toEqual(['redis', 'worker', 'ops', 'emulator']);
  // A colon and a blank within a command would make an object of it.
  for (const { healthcheck } of Object.values(services)) {
    expect(healthcheck?.test?.map((part) => typeof part)).toEqual(
      healthcheck?.test?.map(() => 'string'),
    );
  }
});
