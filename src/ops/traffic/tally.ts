import type { ChainableCommander } from 'ioredis';
import type { SeenAttempt } from '../../contracts/seen-attempt.ts';
import type { Keys } from '../../redis/keys.ts';
import { countAttempt, countDuration, noCounts } from './counters.ts';
import { FINE, MINUTES, placeOf } from './slots.ts';

/**
 * What a worker process has counted since its last heartbeat. A send costs Redis nothing: the
 * numbers ride along with the heartbeat, as four commands of its transaction, whatever they are.
 *
 * The record is for looking, not for accounting (that is the ledger's). What a process has counted
 * since its last heartbeat dies with it. What it could not write because Redis was away or refused
 * is written with the next heartbeat, and so counts for that moment; a write whose answer was lost
 * may count twice.
 */
export class TrafficTally {
  readonly #keys: Keys;
  #counts = noCounts();

  constructor(keys: Keys) {
    this.#keys = keys;
  }

  attempt(attempt: SeenAttempt): void {
    countAttempt(this.#counts, attempt);
  }

  /** Time that an attempt waited for its token. */
  tokenWait(ms: number): void {
    countDuration(this.#counts, 'tokenWait', ms);
  }

  /** What rides with one heartbeat. */
  flush(): TrafficFlush {
    let taken: readonly number[] = [];
    return {
      ride: (commands, now) => {
        taken = this.#counts;
        this.#counts = noCounts();
        write(commands, this.#keys, taken, now);
      },
      undo: () => {
        for (const [position, count] of taken.entries()) {
          this.#counts[position] = (this.#counts[position] ?? 0) + count;
        }
        taken = [];
      },
    };
  }
}

/** Counts on their way to Redis. */
export interface TrafficFlush {
  /** Adds the commands to a transaction; takes the counts only then. */
  readonly ride: (commands: ChainableCommander, now: number) => void;
  /** Takes the counts back where the transaction failed. */
  readonly undo: () => void;
}

function write(
  commands: ChainableCommander,
  keys: Keys,
  counts: readonly number[],
  now: number,
): void {
  if (counts.every((count) => count === 0)) return;
  for (const resolution of [FINE, MINUTES]) {
    const { key, firstCounter, lifeMs } = placeOf(keys, resolution, now);
    const increments = counts.flatMap((count, position) =>
      count === 0 ? [] : ['INCRBY', 'u32', `#${firstCounter + position}`, count],
    );
    // Never wraps around: a slot that is full stays full.
    commands.call('BITFIELD', [key, 'OVERFLOW', 'SAT', ...increments]);
    commands.pexpire(key, lifeMs);
  }
}
