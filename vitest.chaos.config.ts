import { defineConfig } from 'vitest/config';

/** The chaos suite: some ten minutes of breaking things on purpose. */
export default defineConfig({
  test: {
    include: ['test/chaos/**/*.chaos.ts'],
    globalSetup: ['test/chaos/support/report-setup.ts'],
    fileParallelism: false,
    testTimeout: 240_000,
    hookTimeout: 60_000,
  },
});
