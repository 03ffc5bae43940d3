import { CONTROLS } from './controls.ts';

/** docs/security-controls.md. @param note says how it is generated */
export function controlsPage(note: string): string {
  const rows = CONTROLS.map(({ prevents, file, test }) => {
    const name = file.split('/').at(-1) ?? file;
    return `| ${prevents} | [${name}](../${file}) | [${test}](../test/${test}) |`;
  });
  return [
    `<!-- ${note} -->`,
    '<!-- prettier-ignore-start -->',
    '',
    '# Controls of security, and the test of each',
    '',
    '`npm run test:controls` disables each of these controls, one at a time, in a copy of the files, and expects the test',
    'to fail that is named here; `.ci/run --full` runs it. A control that is not in the table has tests of its own, but it',
    'is not tried what happens without it. [SECURITY.md](../SECURITY.md) has the threat model.',
    '',
    '| it prevents | control | test that fails without it |',
    '| --- | --- | --- |',
    ...rows,
    '',
    '<!-- prettier-ignore-end -->',
    '',
  ].join('\n');
}
