import type { HoldKind } from '../../contracts/hold.ts';

/*
 * What one process concludes from its own attempts, in its memory alone. docs/decisions.md has the
 * simulation behind the numbers.
 */

/** So many attempts of different notices in a row, none accepted in between, concern everybody. */
export const ROW = 12;

/**
 * With so many in a row no further attempt begins before one of those under way has ended, and jobs of a row of any length
 * come again after others: in an outage no more is possibly sent than was under way, and a little trouble ends with the
 * next acceptance, a moment later.
 */
export const DOUBT_ROW = 3;

/** As {@link ROW} where nothing was accepted for {@link QUIET_MS}: with little traffic a row of twelve takes too long. */
const QUIET_ROW = 3;
export const QUIET_MS = 10_000;

/** So many different notices or chunks of a template, refused alike in a row and none accepted, hold the template. */
export const TEMPLATE_ROW = 20;

/**
 * The same for refusals of parts of fewer chunks. A chunk with several contacts at fault is refused some ten times before
 * its first part is accepted, and some are sent at a time.
 */
const PARTS_ROW = 100;

/** Most templates with a row of their own; more than these begin anew. */
const MOST_TEMPLATES = 1_000;

/** Tokens whose last acceptance is remembered: those of a renewal or two. */
const MOST_TOKENS = 4;

/** Most contradicted 429s of a notice that use up no attempt: a limit of the account takes some and refuses others. */
const FREE_THROTTLED = 5;

/** What an attempt came to that was neither accepted nor rejected for its content. */
export interface Trouble {
  /** The hold it leads to if it concerns everybody. */
  readonly hold: HoldKind;
  readonly code: string;
  /** Id of the token of the request that was refused; undefined where the refusal does not depend on the token. */
  readonly tokenId?: string | undefined;
  /** It is the notice's own fault after so many contradictions by acceptances of others. Default: never. */
  readonly rejectAfter?: number | undefined;
}

/** What is remembered of a job that was in trouble, until it ends. */
export interface TroubleHistory {
  readonly code: string;
  /** How many troubles in a row with this code the acceptance of another notice contradicted. */
  readonly contradicted: number;
  readonly at: number;
  readonly tokenId?: string | undefined;
}

export type TroubleVerdict =
  /** It is its own fault. */
  | { readonly kind: 'reject' }
  /** It comes again; `near`: others are accepted meanwhile. */
  | { readonly kind: 'again'; readonly counted: boolean; readonly backoff: 'near' | 'far' };

/**
 * What follows from a trouble for its job.
 *
 * | earlier trouble | another accepted since | held | verdict |
 * |---|---|---|---|
 * | with its code | yes, for the `rejectAfter`th time in a row | no | reject |
 * | any | yes | no | counted, soon (429: from the fifth time on) |
 * | none | | any | not counted |
 * | some | no | yes | not counted |
 * | some | no | no | counted, later and later |
 *
 * So an outage uses up no attempts, and a notice that alone is in trouble ends by its attempts.
 * @param isContradicted whether another notice was accepted, with the token of the earlier refusal, by a
 *   request that began after the earlier trouble was known
 */
export function judgeTrouble(
  { hold, code, rejectAfter = Infinity }: Trouble,
  earlier: TroubleHistory | undefined,
  isContradicted: boolean,
  isHeld: boolean,
): TroubleVerdict {
  if (isContradicted && !isHeld) {
    const contradicted = contradictions(code, earlier, isContradicted);
    if (contradicted >= rejectAfter) return { kind: 'reject' };
    const counted = hold !== 'throttled' || contradicted >= FREE_THROTTLED;
    return { kind: 'again', counted, backoff: 'near' };
  }
  return { kind: 'again', counted: earlier !== undefined && !isHeld, backoff: 'far' };
}

/** What was accepted after a trouble with another code says nothing about this one. */
function contradictions(
  code: string,
  earlier: TroubleHistory | undefined,
  isContradicted: boolean,
): number {
  return earlier?.code === code ? earlier.contradicted + (isContradicted ? 1 : 0) : 0;
}

/** The history after one more trouble. @param at Redis time */
export function withTrouble(
  { code, tokenId }: Omit<Trouble, 'hold'>,
  earlier: TroubleHistory | undefined,
  isContradicted: boolean,
  at: number,
): TroubleHistory {
  return {
    code,
    contradicted: contradictions(code, earlier, isContradicted),
    at,
    ...(tokenId === undefined ? {} : { tokenId }),
  };
}

/** When requests began that were accepted. Times are Redis time. */
export class Acceptances {
  #last = -Infinity;
  readonly #byToken = new Map<string, number>();

  /** @param begunAt before its request */
  note(tokenId: string, begunAt: number): void {
    this.#last = Math.max(this.#last, begunAt);
    const before = this.#byToken.get(tokenId) ?? -Infinity;
    this.#byToken.delete(tokenId);
    this.#byToken.set(tokenId, Math.max(before, begunAt));
    if (this.#byToken.size > MOST_TOKENS) deleteOldest(this.#byToken);
  }

  /**
   * Whether an acceptance contradicts an earlier trouble: its request began afterwards. For a refusal it had the
   * same token, which therefore was valid when it was refused.
   */
  contradict({ at, tokenId }: TroubleHistory): boolean {
    return (tokenId === undefined ? this.#last : (this.#byToken.get(tokenId) ?? -Infinity)) > at;
  }
}

/** Attempts in a row, in the order of their ends, that concern the whole account. */
export class AccountRow {
  /** With the time of the last attempt of each. */
  readonly #jobs = new Map<string, number>();
  #acceptedAt: number;

  /** @param now a monotonic clock, in milliseconds */
  constructor(now: number) {
    this.#acceptedAt = now;
  }

  accepted(now: number): void {
    this.#acceptedAt = now;
    this.#jobs.clear();
  }

  /** Whether further attempts wait for the end of one that is under way. */
  get isDoubtful(): boolean {
    return this.#jobs.size >= DOUBT_ROW;
  }

  /**
   * Whether one more attempt of this job would not make the row longer. After {@link QUIET_MS} it goes all the same: where
   * others are only rejected, the row neither ends nor becomes longer.
   */
  has(job: string, now: number): boolean {
    return now - (this.#jobs.get(job) ?? -Infinity) < QUIET_MS;
  }

  /** @returns whether the row is long enough for a hold: from then on, until the next acceptance */
  note(job: string, now: number): boolean {
    this.#jobs.set(job, now);
    const isQuiet = now - this.#acceptedAt >= QUIET_MS;
    return this.#jobs.size >= (isQuiet ? QUIET_ROW : ROW);
  }
}

export interface Refused {
  readonly job: string;
  /** Redis time at which it was known. */
  readonly at: number;
  /** How many notices it counts as in a row. Default 1. */
  readonly weight?: number | undefined;
  /** Where it was rejected for it: puts it back to waiting when the template is held. */
  readonly takeBack?: (() => Promise<unknown>) | undefined;
}

interface TemplateRow {
  readonly code: string;
  /** Since the last acceptance: what counts as different. */
  readonly different: Set<string>;
  weight: number;
  /** How many were refused since then. */
  length: number;
  /** These, and those shortly before them: requests that began before a change were still accepted meanwhile. */
  readonly refused: Map<string, Refused>;
}

/** Refusals shortly before a row are taken for a part of it, in milliseconds; at most so many. */
const BEFORE_ROW_MS = 5_000;
const MOST_BEFORE_ROW = 100;

/** Refusals in a row for each template: different notices or chunks, the same status and code, none accepted. */
export class TemplateRows {
  readonly #rows = new Map<string, TemplateRow>();

  accepted(template: string): void {
    const row = this.#rows.get(template);
    if (row === undefined) return;
    row.different.clear();
    row.weight = 0;
    row.length = 0;
  }

  /**
   * @param id what counts as different: a notice, or the chunk that a part was cut from
   * @param code status and code
   * @returns what was refused, where the row is long enough for a hold; it then begins anew
   */
  note(
    template: string,
    id: string,
    code: string,
    refused: Refused,
  ): readonly Refused[] | undefined {
    const before = this.#rows.get(template);
    const row: TemplateRow =
      before?.code === code
        ? before
        : { code, different: new Set(), weight: 0, length: 0, refused: new Map() };
    if (row.length++ === 0) this.#trim(row, refused.at);
    if (!row.different.has(id)) row.weight += refused.weight ?? 1;
    row.different.add(id);
    row.refused.set(refused.job, refused);
    this.#rows.delete(template);
    if (row.weight >= TEMPLATE_ROW || row.length >= PARTS_ROW) {
      return [...row.refused.values()];
    }
    this.#rows.set(template, row);
    if (this.#rows.size > MOST_TEMPLATES) deleteOldest(this.#rows);
    return undefined;
  }

  /** Ends the row of a template that another process has held for the same code. @param code without the status */
  take(template: string, code: string): readonly Refused[] {
    const row = this.#rows.get(template);
    if (row === undefined || !row.code.endsWith(` ${code}`)) return [];
    this.#rows.delete(template);
    return [...row.refused.values()];
  }

  #trim({ refused }: TemplateRow, now: number): void {
    for (const [job, { at }] of refused) {
      if (refused.size <= MOST_BEFORE_ROW && now - at <= BEFORE_ROW_MS) break;
      refused.delete(job);
    }
  }
}

function deleteOldest(map: Map<string, unknown>): void {
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

/** 429s of different notices within {@link THROTTLED_WITHIN_MS} that lower the rate limit: one alone may be its notice's own. */
const THROTTLED_ROW = 3;
const THROTTLED_WITHIN_MS = 10_000;

export class Throttled {
  readonly #at = new Map<string, number>();

  /** @returns whether the rate limit is to be lowered; they then count anew */
  note(job: string, now: number): boolean {
    for (const [one, at] of this.#at) if (now - at > THROTTLED_WITHIN_MS) this.#at.delete(one);
    this.#at.set(job, now);
    if (this.#at.size < THROTTLED_ROW) return false;
    this.#at.clear();
    return true;
  }
}
