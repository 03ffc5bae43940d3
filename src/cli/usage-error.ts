/** The command line asks for something that cannot be; it ends with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
