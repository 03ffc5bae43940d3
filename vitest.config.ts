import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // `npm run test:chaos` and `npm run test:browser`: too long for every run.
    exclude: [...configDefaults.exclude, 'test/chaos/**', 'test/browser/**'],
    globalSetup: ['test/support/global-setup.ts'],
    // Files share one Redis and two cores: a fleet test beside another one measures only the crowd.
    fileParallelism: false,
    // A machine that stands still for seconds fails a test of real processes now and then. `.ci/run`
    // names each test that needed its second try.
    retry: process.env['CI'] === 'true' ? 1 : 0,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
