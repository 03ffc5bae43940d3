import { defineConfig } from 'vitest/config';

/** The chaos suite: half an hour of breaking things on purpose; CHAOS_SHORT=1 takes five minutes. */
export default defineConfig({
  test: {
    include: ['test/chaos/**/*.chaos.ts'],
    globalSetup: ['test/chaos/support/report-setup.ts'],
    fileParallelism: false,
    // As in vitest.config.ts: `.ci/run` names what needed a second try.
    retry: process.env['CI'] === 'true' ? 1 : 0,
    testTimeout: 240_000,
    hookTimeout: 60_000,
  },
});
