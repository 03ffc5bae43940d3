import { spawnSync } from 'node:child_process';

/**
 * Before the first test file: builds, once for all projects, for tests that start processes run the
 * built files. The scripts of package.json have just built and say so by NOTICES_SKIP_BUILD=1; a run
 * of vitest alone builds here. Nothing is removed first, so that two runs beside each other do not
 * take each other's files away. A type error does not stop the run, for the files are written all the
 * same: `npm run check` is what refuses it.
 */
export function setup(): void {
  if (process.env['NOTICES_SKIP_BUILD'] === '1') return;
  process.env['NOTICES_SKIP_BUILD'] = '1';
  const tsc = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'];
  const built = spawnSync(process.execPath, tsc, { encoding: 'utf8' });
  if (built.error !== undefined) throw built.error;
  if (built.status !== 0) {
    process.stderr.write(
      `The build has errors; the tests run on what it wrote.\n${built.stdout}\n`,
    );
  }
}
