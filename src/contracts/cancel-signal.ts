/**
 * The part of an AbortSignal that says "give up": an AbortSignal is one, and so are a Deadline and a
 * Cancellation (src/async), which cost far less to make than an AbortSignal of their own.
 *
 * A listener is called at most once by each signal. The caller that adds one removes it when its wait is over.
 */
export interface CancelSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}
