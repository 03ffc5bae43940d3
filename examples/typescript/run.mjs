// Compiles and runs one program in each way in which applications compile TypeScript, and bundles it.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';

const program = (name, ...args) =>
  execFileSync(`node_modules/.bin/${name}`, args, { encoding: 'utf8', stdio: 'pipe' });

function check(name, steps) {
  try {
    for (const step of steps) step();
    console.log(`ok ${name}`);
  } catch (error) {
    process.exitCode = 1;
    console.log(`not ok ${name}: ${error.message}\n${error.stdout ?? ''}`);
  }
}

const run = (file) => () => {
  const printed = execFileSync(process.execPath, [file], { encoding: 'utf8', stdio: 'pipe' });
  if (printed !== 'sent\n') throw new Error(`printed ${printed}`);
};

function compile(outDir, type, module, moduleResolution, ...more) {
  const strict = ['--strict', '--target', 'es2022', '--types', 'node', ...more];
  return () => {
    mkdirSync(outDir, { recursive: true });
    // The type of the folder that the source is in decides what it is.
    writeFileSync('src/package.json', JSON.stringify({ type }));
    writeFileSync(`${outDir}/package.json`, JSON.stringify({ type }));
    const how = ['--module', module, '--moduleResolution', moduleResolution, ...strict];
    program('tsc', 'src/send.ts', '--outDir', outDir, ...how);
  };
}

for (const [name, type, module, resolution, ...more] of [
  ['commonjs, node10', 'commonjs', 'commonjs', 'node10', '--esModuleInterop'],
  // Types of zod and pino need the interop.
  ['commonjs, node10, without interop', 'commonjs', 'commonjs', 'node10', '--skipLibCheck'],
  ['node16, a CommonJS package', 'commonjs', 'node16', 'node16'],
  ['node16, a package of modules', 'module', 'node16', 'node16'],
  ['nodenext, a CommonJS package', 'commonjs', 'nodenext', 'nodenext'],
  ['nodenext, a package of modules', 'module', 'nodenext', 'nodenext'],
  ['esnext, bundler', 'module', 'esnext', 'bundler'],
]) {
  const folder = `out/${name.replaceAll(/\W+/g, '-')}`;
  check(`TypeScript ${name}`, [
    compile(folder, type, module, resolution, ...more),
    run(`${folder}/send.js`),
  ]);
}

const bundle =
  (...args) =>
  () =>
    program(
      'esbuild',
      'src/send.ts',
      '--bundle',
      '--platform=node',
      '--log-level=warning',
      ...args,
    );
// Packages in CommonJS, such as ioredis, ask for Node's own modules by `require`.
const banner = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`;
check('esbuild cjs', [bundle('--format=cjs', '--outfile=out/send.cjs'), run('out/send.cjs')]);
check('esbuild esm', [
  bundle('--format=esm', '--outfile=out/send.mjs', `--banner:js=${banner}`),
  run('out/send.mjs'),
]);
check('esbuild esm, packages left outside', [
  bundle('--format=esm', '--outfile=out/outside.mjs', '--packages=external'),
  run('out/outside.mjs'),
]);

check('Are the types wrong?', [
  () =>
    program('attw', process.env.NOTICE_QUEUE_TARBALL, '--exclude-entrypoints', 'job.schema.json'),
]);
