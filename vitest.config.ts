import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // `npm run test:chaos`: too long for every run.
    exclude: [...configDefaults.exclude, 'test/chaos/**'],
    globalSetup: ['test/support/global-setup.ts'],
    // Files share one Redis and two cores: a fleet test beside another one measures only the crowd.
    fileParallelism: false,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
