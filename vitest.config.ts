import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { filesOf, type Tier } from './test/support/tiers.ts';

type Settings = NonNullable<TestProjectInlineConfiguration['test']>;

/** A Redis that REDIS_URL names is one for all: there the files take turns. */
const OWN_REDIS = (process.env['REDIS_URL'] ?? '').trim() === '';

const BUILD = 'test/support/build-setup.ts';
const REDIS = 'test/support/redis-setup.ts';

/** Projects run one after the other, in the order of the list below. */
let groupOrder = 0;

function project(tier: Tier, settings: Settings): TestProjectInlineConfiguration {
  return {
    extends: true,
    test: { name: tier, ...filesOf(tier), sequence: { groupOrder: groupOrder++ }, ...settings },
  };
}

/** What waits on timers, sockets and processes leaves room on a core: two files at a time keep two cores busy. */
const workers = (count: number): number => (OWN_REDIS ? count : 1);

export default defineConfig({
  test: {
    hookTimeout: 60_000,
    projects: [
      project('unit', {
        pool: 'threads',
        isolate: false,
        maxWorkers: 2,
        testTimeout: 30_000,
      }),
      project('integration', {
        globalSetup: [BUILD, REDIS],
        pool: 'forks',
        isolate: false,
        maxWorkers: workers(4),
        testTimeout: 30_000,
      }),
      project('promise', {
        globalSetup: [BUILD, REDIS],
        pool: 'forks',
        isolate: false,
        maxWorkers: workers(3),
        testTimeout: 30_000,
      }),
      project('fleet', {
        globalSetup: [BUILD, REDIS],
        maxWorkers: workers(2),
        testTimeout: 30_000,
      }),
      project('release', {
        globalSetup: [BUILD, REDIS],
        maxWorkers: workers(2),
        testTimeout: 30_000,
      }),
      project('chaos', {
        globalSetup: [BUILD],
        // Each file has its own Redis. With three at a time on two cores, killed workers are replaced too late.
        maxWorkers: 2,
        testTimeout: 240_000,
      }),
      project('browser', {
        globalSetup: [BUILD, REDIS, 'test/browser/support/browser-setup.ts'],
        maxWorkers: workers(2),
        testTimeout: 300_000,
      }),
    ],
  },
});
