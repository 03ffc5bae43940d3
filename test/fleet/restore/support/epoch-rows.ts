import {
  judgeEpoch,
  type Epoch,
  type EpochReading,
  type EpochMemory,
  type RestoreEvent,
} from '../../../../src/fleet/restore/epoch.ts';

export const MINUTE = 60_000;
export const NOON = 1_800_000_000_000;
const BOUNDS = { toleranceMs: 2_000, gapMs: MINUTE };

/** Redis as server `a` left it: 100 heartbeats, the last at noon. */
const EPOCH: Epoch = {
  id: 'one',
  bornAt: NOON - 10 * MINUTE,
  beats: 100,
  at: NOON,
  server: 'a',
  earlier: undefined,
  stopped: false,
  event: undefined,
};

const MEMORY: EpochMemory = {
  id: 'one',
  bornAt: NOON - 10 * MINUTE,
  beats: 100,
  at: NOON,
  server: 'a',
  event: '',
  by: 'process',
};

export const EVENT: RestoreEvent = {
  id: '1-e',
  at: NOON + 2 * MINUTE,
  why: 'went-back',
  copyAt: NOON - MINUTE,
  missingMs: MINUTE,
  verdict: 'held',
  missed: 'one',
};

/** What is looked at: server `b`, which has just started, unless said otherwise. */
const reading = (epoch: Epoch | undefined, changes: Partial<EpochReading> = {}): EpochReading => ({
  epoch,
  now: NOON + 2 * MINUTE,
  server: 'b',
  startedAt: NOON + 2 * MINUTE - 1_000,
  ...changes,
});

/** A case: what is remembered, what Redis has, who answers, and the verdict. */
export interface Row {
  readonly name: string;
  readonly memory?: Partial<EpochMemory>;
  readonly epoch?: Partial<Epoch>;
  readonly seen?: Partial<EpochReading>;
  readonly olderWork?: boolean;
  readonly expected: string;
  readonly missing?: number;
}

/** The verdict on a row, with how much is missing where something is. */
export function verdictOf({ memory, epoch, seen, olderWork = false }: Row): string {
  const verdict = judgeEpoch(
    memory === undefined ? undefined : { ...MEMORY, ...memory },
    reading(epoch === undefined ? undefined : { ...EPOCH, ...epoch }, seen),
    BOUNDS,
    olderWork,
  );
  return verdict.kind === 'continue'
    ? `continue${verdict.isRestart === true ? ', a restart' : ''}`
    : `${verdict.kind} ${verdict.why}, ${verdict.missingMs} ms`;
}

/** What a row says the verdict is. */
export function wanted({ expected, missing }: Row): string {
  return missing === undefined ? expected : `${expected}, ${missing} ms`;
}
