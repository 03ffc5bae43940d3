import { describeFailure } from '../../src/contracts/errors.ts';

/** Exit code of an error that nothing caught, as Node.js has it. */
const UNCAUGHT = 1;

/**
 * Ends this process at an error that nothing caught, and writes its kind and its place to standard error. Node.js
 * would write its message and all its fields: an error of the Redis client has the command, whose arguments contain
 * phone numbers and values. For programs only: an application that embeds a worker decides itself.
 */
export function endOnUncaughtErrors(): void {
  process.on('uncaughtException', (error: unknown) => {
    process.stderr.write(`${[describeFailure(error), ...placesOf(error)].join('\n')}\n`);
    process.exit(UNCAUGHT);
  });
}

/** The calls of the stack, without the message above them. */
function placesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return [];
  const { stack = '', message } = error;
  const calls = stack.slice(stack.indexOf(message) + message.length);
  return calls.split('\n').filter((line) => /^ {4}at /.test(line));
}
