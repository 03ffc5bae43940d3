import { pause } from '../../src/async/cancellation.ts';

/** The end of what is taken back may still be under way. */
const AGAIN_MS = 200;
const TRIES = 25;

/** Repeats what is not possible yet, for some seconds. */
export async function untilDone(attempt: () => Promise<boolean>): Promise<void> {
  for (let tries = 1; tries < TRIES && !(await attempt()); tries++) await pause(AGAIN_MS);
}

/** Most lists whose templates a process remembers. */
const MOST_LISTS = 1_000;

/** What a process knows of a list before it claims a chunk of it. */
export interface SeenList {
  /** As in `GateJob.template`. */
  readonly template: string;
  readonly isOnce: boolean;
  /** Its deadline, by the monotonic clock; infinite without one. */
  readonly expiresAt: number;
}

/** The templates and delivery policies of lists, by the ids of their batches. */
export class ListTemplates {
  readonly #templates = new Map<string, SeenList>();

  of(batch: string): SeenList | undefined {
    return this.#templates.get(batch);
  }

  note(batch: string, list: SeenList): void {
    if (this.#templates.size >= MOST_LISTS) this.#templates.clear();
    this.#templates.set(batch, list);
  }
}
