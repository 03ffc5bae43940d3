import path from 'node:path';
import type { Reporter, TestCase } from 'vitest/node';

/** Characters of a cause, or of a value that was not as expected. */
const MOST = 1_500;

/** Says why a test needed its second try: vitest shows the error of a first try only where the last one fails too. */
export default class SecondTryReporter implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const { state, errors } = test.result();
    if (state !== 'passed' || errors === undefined || errors.length === 0) return;
    for (const { message, cause, stacks, actual } of errors) {
      const [at] = stacks ?? [];
      const place = at === undefined ? '' : ` (${path.relative('.', at.file)}:${at.line})`;
      // On one line, for a report that keeps lines.
      const got = typeof actual === 'string' ? `; got ${actual.replaceAll(/\s+/g, ' ')}` : '';
      const because =
        cause === undefined ? '' : `; because ${cause.message.replaceAll(/\s+/g, ' ')}`;
      const more = because.slice(0, MOST) + got.slice(0, MOST);
      process.stdout.write(`first try of "${test.fullName}": ${message}${place}${more}\n`);
    }
  }
}
