import { defineConfig } from 'vitest/config';

/** The pages in a real browser; pictures of them are written to test-output/pages. */
export default defineConfig({
  test: {
    include: ['test/browser/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts', 'test/browser/support/browser-setup.ts'],
    fileParallelism: false,
    retry: process.env['CI'] === 'true' ? 1 : 0,
    testTimeout: 300_000,
    hookTimeout: 60_000,
  },
});
