import type { RedisClient } from '../../redis/connect.ts';
import type { Hints } from '../../redis/hints.ts';
import { proveAccepted } from './evidence-scripts.ts';

/** Hints that are remembered: as many as come during a send that takes 16 seconds. */
const MOST_ASKED = 64;

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
 *   request that was under way then may have been accepted before the cause.
 *
 * | a job meets | verdict |
 * |---|---|
 * | a refusal or page, and no acceptance was reported since it met it before | counted: an attempt is spent |
 * | the same, three different jobs in the row, and asked for a second | held |
 * | the same, a hold is in effect | held |
 * | a refusal or page again, others were accepted in between (a refusal: all with the same token) | own after so many contradictions, else counted |
 * | an unknown outcome, three different jobs in the row, or a hold in effect | held: `failing` |
 * | an unknown outcome otherwise | counted |
 * | what is stated for every job (402, 429, 503 with Retry-After, not sent, a certificate) | held; counted if others were accepted since it met it before (429: from the fifth time on) |
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

  /** Subscribes to hints. A lost one is repeated by the next meeting. */
  start(): void {
    this.#unsubscribe ??= this.#hints.subscribe(this.#channel, (text) => {
      const [, kind, number] = /^(ask|proven):(\d+)$/.exec(text ?? '') ?? [];
      const meeting = Number(number);
      if (kind === 'proven') this.#forget(meeting);
      else if (kind === 'ask') {
        this.#asked.push({ meeting, at: performance.now() });
        if (this.#asked.length > MOST_ASKED) this.#asked.shift();
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
    const known = this.#asked.findLast(({ at }) => at <= begunAt);
    return known === undefined ? undefined : this.#report(token, known.meeting);
  }

  async #report(token: string, meeting: number): Promise<void> {
    this.#forget(meeting);
    await proveAccepted(this.#redis, this.#keys, [token, this.#channel, meeting]);
  }

  #forget(meeting: number): void {
    this.#asked = this.#asked.filter((one) => one.meeting > meeting);
  }
}
