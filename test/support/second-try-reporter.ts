import path from 'node:path';
import type { Reporter, TestCase } from 'vitest/node';

/** Characters of a value that was not as expected. */
const MOST = 500;

/** Says why a test needed its second try: vitest shows the error of a first try only where the last one fails too. */
export default class SecondTryReporter implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const { state, errors } = test.result();
    if (state !== 'passed' || errors === undefined || errors.length === 0) return;
    for (const { message, stacks, actual } of errors) {
      const [at] = stacks ?? [];
      const place = at === undefined ? '' : ` (${path.relative('.', at.file)}:${at.line})`;
      // On one line, for a report that keeps lines.
      const got = typeof actual === 'string' ? `; got ${actual.replaceAll(/\s+/g, ' ')}` : '';
      process.stdout.write(
        `first try of "${test.fullName}": ${message}${place}${got.slice(0, MOST)}\n`,
      );
    }
  }
}
