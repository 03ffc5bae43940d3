/**
 * What became of the contacts that an attempt had claimed. The parts add up to the chunk, and each
 * that is smaller than the chunk brings the payload of its own contacts.
 */
export interface Settlement {
  readonly accepted: number;
  /** Contacts that are to be tried again. */
  readonly rest?: {
    readonly size: number;
    /** The chunk's own when left out. */
    readonly payload?: Buffer;
    /** They may have been taken. Under at-most-once they are unknown then, and do not go back. */
    readonly doubt: boolean;
  };
  readonly failed: readonly FailedPart[];
}

/** Contacts that ended otherwise than accepted, all for the same reason. */
export interface FailedPart {
  readonly state: 'rejected' | 'unknown' | 'expired';
  readonly size: number;
  readonly code: string;
  /** The service's own words, masked. */
  readonly message: string;
  /** Their contacts; the chunk's own payload when left out. */
  readonly payload?: Buffer;
}

/** All of a chunk was accepted. */
export const allAccepted = (size: number): Settlement => ({ accepted: size, failed: [] });

/** All of a chunk goes back. */
export const allBack = (size: number, doubt: boolean): Settlement => ({
  accepted: 0,
  rest: { size, doubt },
  failed: [],
});

/** All of a chunk failed. */
export const allFailed = (
  size: number,
  state: FailedPart['state'],
  code: string,
  message: string,
): Settlement => ({ accepted: 0, failed: [{ state, size, code, message }] });
