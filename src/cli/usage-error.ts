/** A wrong use of the command line; the command exits with code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
