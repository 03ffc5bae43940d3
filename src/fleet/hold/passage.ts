import type { HoldKind } from '../../contracts/hold.ts';

/** A job at the gate. */
export interface Entrant {
  readonly job: string;
  /**
   * How often it was possibly sent; an at-most-once job counts one more: one probe makes it unknown. A function
   * where that takes a command of Redis: it is called only while the queue may be held.
   */
  readonly possiblySent: number | (() => Promise<number>);
}

/** What a job met: an answer, or none, that may concern every job. */
export interface Meeting {
  readonly job: string;
  /** Names the attempt: a repetition of the same one changes nothing. */
  readonly attempt: string;
  /**
   * - `always`: it holds for every job, whatever was accepted (an issuance that was refused);
   * - `stated`: it holds for every job, unless others are accepted (402, 429, 503 with Retry-After, not sent, a certificate);
   * - `unknown`: it may have been taken;
   * - `page`, `refusal`: it may be the job's own fault.
   */
  readonly class: 'always' | 'stated' | 'unknown' | 'page' | 'refusal';
  /** The hold that is placed if it holds for all. */
  readonly hold: HoldKind;
  readonly code: string;
  /** Id of the token of its request; empty where there was none. */
  readonly token: string;
  /** Milliseconds to the next probe where the cause names them (Retry-After, the rest of a refusal). */
  readonly forMs?: number | undefined;
  /** It is the job's own fault after so many contradictions; 0, the default: never. */
  readonly ownAfter?: number | undefined;
}

/** What follows from a meeting. */
export type Met =
  /** The queue is held; the job may come again after `behindMs`, behind the others. 0: it is next. */
  | { readonly kind: 'held'; readonly behindMs: number }
  /** An attempt is counted. `disproved`: others were accepted since the job met it before; `first`: it had met nothing. */
  | { readonly kind: 'counted'; readonly disproved: boolean; readonly first: boolean }
  /** It is the job's own fault. */
  | { readonly kind: 'own' };

/** A job that leaves the probe to others. */
export interface Aside {
  /** Milliseconds after which it may probe itself, if none did. */
  readonly asideMs: number;
}

/** Permission to make one attempt. The methods report its end; they do nothing unless it is a probe. */
export interface Passage {
  /** Nonce of the probe; undefined when the attempt is none. */
  readonly probe: string | undefined;
  /**
   * The service processed the request: lifts the hold, by the table above.
   *
   * @param token id of its token
   */
  answered(as: 'accepted' | 'rejected', token: string): Promise<void>;
  /** The probe was inconclusive: the next one comes later. */
  undecided(): Promise<void>;
  /** The attempt ended without a request: another job may probe at once. */
  abandoned(): Promise<void>;
}

const nothing = () => Promise.resolve();

/** The passage of an attempt that is no probe. */
export const OPEN: Passage = {
  probe: undefined,
  answered: nothing,
  undecided: nothing,
  abandoned: nothing,
};
