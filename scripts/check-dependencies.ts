/**
 * The gate for dependencies: fails where package.json, package-lock.json and docs/dependencies.md contain
 * something that was not reviewed. Paths are relative to the directory it runs in.
 */
import { readFileSync } from 'node:fs';
import { judgeDependencies, type Dependencies } from './dependencies/judge-dependencies.ts';

const read = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));

const problems = judgeDependencies({
  manifest: read('package.json') as Dependencies['manifest'],
  lock: read('package-lock.json') as Dependencies['lock'],
  page: readFileSync('docs/dependencies.md', 'utf8'),
});
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
