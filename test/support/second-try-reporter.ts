import path from 'node:path';
import type { Reporter, TestCase } from 'vitest/node';

/** Says why a test needed its second try: vitest shows the error of a first try only where the last one fails too. */
export default class SecondTryReporter implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const { state, errors } = test.result();
    if (state !== 'passed' || errors === undefined || errors.length === 0) return;
    for (const { message, stacks } of errors) {
      const [at] = stacks ?? [];
      const place = at === undefined ? '' : ` (${path.relative('.', at.file)}:${at.line})`;
      process.stdout.write(`first try of "${test.fullName}": ${message}${place}\n`);
    }
  }
}
