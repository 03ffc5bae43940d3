import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { VERSION } from '../src/contracts/version.ts';

/*
 * The first step of `npm run release`: whether what would be published is complete. `npm publish --provenance` needs the
 * address of the repository, which is the publisher's to set.
 */
const read = (file: string) => readFileSync(file, 'utf8');
const { version, ...manifest } = JSON.parse(read('package.json')) as Record<string, unknown> & {
  version: string;
};

const problems = [
  ...['repository', 'homepage', 'bugs'].flatMap((name) =>
    manifest[name] === undefined ? [`package.json has no ${name}`] : [],
  ),
  ...(VERSION === version ? [] : [`src/contracts/version.ts does not name ${version}`]),
  ...(read('CHANGELOG.md').includes(`\n## [${version}] - 20`)
    ? []
    : [`CHANGELOG.md has no day for ${version}`]),
  ...(execFileSync('git', ['status', '--porcelain'], { encoding: 'utf8' }) === ''
    ? []
    : ['there are changes that are not committed']),
];

for (const problem of problems) console.error(`not ready for a release: ${problem}`);
if (problems.length > 0) process.exitCode = 1;
else console.log(`${version} is ready to be checked and published`);
