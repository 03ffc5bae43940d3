/**
 * A way to hear of changes made by other processes. Hints only save time: a lost one costs a short
 * wait or one refused call, never a wrong answer. The port is the slot's; whoever composes the
 * process supplies it from its one subscriber connection.
 */
export interface HintChannel {
  /**
   * Listens from now on, without waiting for Redis; the answer ends it. The listener gets
   * `undefined` after a gap in which hints may have been lost.
   */
  subscribe(channel: string, listener: (text: string | undefined) => void): () => void;
}

/** What the slot's scripts publish. */
export type TokenHint =
  | { readonly kind: 'stored'; readonly id: string }
  | { readonly kind: 'refused' }
  | { readonly kind: 'released' };

/** Reads a published text; a gap, or anything unknown, only wakes who waits. */
export function readHint(text: string | undefined): TokenHint {
  if (text?.startsWith('stored:') === true) return { kind: 'stored', id: text.slice(7) };
  return text === 'refused' ? { kind: 'refused' } : { kind: 'released' };
}
