import type { RedisClient } from '../../redis/connect.ts';
import type { Hints } from '../../redis/hints.ts';
import { EVIDENCE_KEY, proveAccepted } from './evidence-scripts.ts';

/** Hints that are remembered: as many as come during a send that takes 16 seconds. */
const MOST_ASKED = 64;

/** Pause before a record that could not be read is read again. */
const READ_AGAIN_MS = 1_000;

/**
 * Evidence of whether a refusal, a page or an unknown outcome is one notice's own, or meets every notice.
 *
 * A claim about everybody is not believed from one notice, and not against acceptances. Each job that met
 * something ({@link HoldGate.meet}) is a witness, and asks for an acceptance:
 *
 * - not asked: an acceptance costs no command.
 * - not asked -> asked: a job met something; every process gets a hint, which later meetings repeat until it is
 *   answered.
 * - asked -> not asked: an acceptance with the current token is reported, and contradicts the meetings that
 *   its process knew of before the request. It clears both rows. What was met later is still asked for: a
 *   request that was under way then may have been accepted before the cause. A report that fails, or proves
 *   nothing because its token was replaced, is left to an acceptance of a later request.
 *
 * A process that got no hint, because it was started later or its connection was lost, reads what is asked
 * for: otherwise a question would stay unanswered, and be believed at the next refusal, whatever was accepted.
 *
 * | a job meets | verdict |
 * |---|---|
 * | a refusal or page, and no acceptance was reported since it met it before | counted: an attempt is spent |
 * | the same, three different jobs in the row, and asked for a second | held |
 * | the same, a hold is in effect | held |
 * | a refusal or page again, others were accepted in between (a refusal: all with the same token) | own after so many contradictions, else counted |
 * | an unknown outcome, three different jobs in the row, or a hold in effect | held: `failing` |
 * | an unknown outcome otherwise | counted |
 * | what is stated for every job (402, 429, 503 with Retry-After, not sent, a certificate) | held; counted if others were accepted since it met it before (429: from the fifth such contradiction on) |
 *
 * "Before" and the contradictions are counted for refusals and pages, and apart from them for all else: that a hold was
 * contradicted by its end says nothing about a refusal.
 *
 * So memory alone rejects nothing: a job is rejected for itself only by an acceptance between two of its
 * refusals. The record may be lost at any time: the next meeting then counts as the first.
 */
export class Evidence {
  readonly #redis: RedisClient;
  readonly #hints: Pick<Hints, 'subscribe'>;
  readonly #keys: readonly string[];
  readonly #channel: string;
  /** What is asked for, as far as this process knows: the last meeting, and the monotonic time of its hint. */
  #asked: { readonly meeting: number; readonly at: number }[] = [];
  /** When an acceptance reads what is asked for; infinite while hints tell it. */
  #readFrom = Infinity;
  #isReading = false;
  #unsubscribe: (() => void) | undefined;

  /**
   * @param keys of the scripts: as `endProbe`
   * @param channel of hints
   */
  constructor(
    redis: RedisClient,
    hints: Pick<Hints, 'subscribe'>,
    keys: readonly string[],
    channel: string,
  ) {
    this.#redis = redis;
    this.#hints = hints;
    this.#keys = keys;
    this.#channel = channel;
  }

  /** Subscribes to hints. A lost one is repeated by the next meeting; after a gap the record is read. */
  start(): void {
    this.#unsubscribe ??= this.#hints.subscribe(this.#channel, (text) => {
      // A number that no record has would stop this process from asking.
      const asked = /^ask:(\d+)$/.exec(text ?? '')?.[1];
      if (asked !== undefined) this.#ask(Number(asked));
      else {
        this.#readFrom = -Infinity;
        void this.#read();
      }
    });
  }

  /** Unsubscribes. */
  stop(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  /**
   * An attempt was accepted; reports it where one is asked for.
   *
   * @param token id of its token
   * @param begunAt monotonic time before its request
   * @returns undefined where none is asked for
   * @throws ScriptFailure
   */
  accepted(token: string, begunAt: number): Promise<void> | undefined {
    void this.#read();
    const known = this.#asked.findLast(({ at }) => at <= begunAt);
    return known === undefined ? undefined : this.#report(token, known.meeting);
  }

  async #report(token: string, meeting: number): Promise<void> {
    this.#forget(meeting);
    let isProven = false;
    try {
      isProven = await proveAccepted(this.#redis, this.#keys, [token, this.#channel, meeting]);
    } finally {
      if (!isProven && this.#asked.length === 0) this.#ask(meeting);
    }
  }

  /** Reads what is asked for, if that is due. A gap during a read makes another one due. */
  async #read(): Promise<void> {
    if (this.#isReading || performance.now() < this.#readFrom) return;
    this.#isReading = true;
    this.#readFrom = Infinity;
    try {
      const key = this.#keys[EVIDENCE_KEY] ?? '';
      const [meetings, askedAt] = await this.#redis.hmget(key, 'meetings', 'askedAt');
      if (Number(askedAt) > 0 && Number(meetings) > 0) this.#ask(Number(meetings));
      else this.#forget(Number(meetings));
    } catch {
      this.#readFrom = Math.min(this.#readFrom, performance.now() + READ_AGAIN_MS);
    } finally {
      this.#isReading = false;
    }
  }

  #ask(meeting: number): void {
    if (this.#asked.at(-1)?.meeting === meeting) return;
    // A higher number is of a record that was lost.
    const before = this.#asked.filter((one) => one.meeting < meeting);
    this.#asked = [...before, { meeting, at: performance.now() }].slice(-MOST_ASKED);
  }

  #forget(meeting: number): void {
    this.#asked = this.#asked.filter((one) => one.meeting > meeting);
  }
}
