import { describe, expect, it } from 'vitest';
import {
  judgeEpoch,
  type Epoch,
  type EpochReading,
  type Term,
} from '../../../src/fleet/restore/epoch.ts';

const MINUTE = 60_000;
const NOON = 1_800_000_000_000;

/** The heartbeats of server `a`, the last one at noon. */
const TERM: Term = { id: 'one', bornAt: NOON - 10 * MINUTE, beats: 100, at: NOON };
const EARLIER: Term = { id: 'zero', bornAt: NOON - 60 * MINUTE, beats: 50, at: NOON - 10 * MINUTE };
const LATER: Term = { id: 'two', bornAt: NOON + MINUTE, beats: 200, at: NOON + 3 * MINUTE };
const EPOCH = { ...TERM, server: 'a', before: undefined, stopped: false, event: undefined };
/** New workers, or an event, have started another term. */
const NEXT = { ...EPOCH, ...LATER, server: 'b', before: TERM };

/** The verdict on what is remembered and stored. @param seen who answers: server `b`, which has just started */
function verdictOf(
  memory: Partial<Term> | undefined,
  epoch: Partial<Epoch> | undefined,
  seen: Partial<EpochReading> = {},
): string {
  const reading = { now: NOON + 2 * MINUTE, server: 'b', startedAt: NOON + 2 * MINUTE - 1_000 };
  const verdict = judgeEpoch(
    memory && { ...TERM, ...memory },
    { epoch: epoch && { ...EPOCH, ...epoch }, ...reading, ...seen },
    { toleranceMs: 2_000, gapMs: MINUTE },
  );
  return verdict.kind === 'continue'
    ? `continue${verdict.isRestart === true ? ', a restart' : ''}`
    : `${verdict.kind} ${verdict.why}, ${verdict.missingMs} ms`;
}

const RUN_LONG = { startedAt: NOON - 60 * MINUTE };
const MUCH_LATER = { now: NOON + 600 * MINUTE, startedAt: NOON + 599 * MINUTE };

const lost = (minutes: number) => `suspect went-back, ${minutes * MINUTE} ms`;
const gap = (ms: number) => `suspect gap, ${ms} ms`;
const GOES_ON = 'continue';
const RESTART = 'continue, a restart';

describe('a Redis that is remembered', () => {
  const MINE = { beats: 101, at: NOON + 9_000 };
  const OLDER = { ...NEXT, id: 'three', bornAt: NOON + 9 * MINUTE };
  it.each<[string, Partial<Term>, Partial<Epoch> | undefined, string, Partial<EpochReading>?]>([
    ['emptied', {}, undefined, GOES_ON],
    ['nothing has happened', {}, {}, GOES_ON],
    ['others went on', { beats: 90 }, {}, GOES_ON],
    ['a power cut with AOF, however long', {}, {}, GOES_ON, MUCH_LATER],
    ['the same, and new workers went on', {}, NEXT, GOES_ON],
    ['two servers since', EARLIER, NEXT, GOES_ON],
    ['emptied, and used since', {}, { ...LATER }, GOES_ON],
    ['a restored nightly copy', { beats: 5_000, at: NOON + 400 * MINUTE }, {}, lost(400)],
    ['a copy from after a clean shutdown', MINE, { stopped: true }, lost(0.15)],
    // A replica that lagged, within the tolerance and beyond it.
    ['lag', { ...MINE, at: NOON + 2_000 }, {}, 'tolerate went-back, 2000 ms', RUN_LONG],
    ['more lag', { ...MINE, at: NOON + 2_001 }, {}, 'suspect went-back, 2001 ms', RUN_LONG],
    // How much is missing is not known then, so it is not tolerated.
    ['a clock went back meanwhile', { ...MINE, at: NOON - 5_000 }, {}, lost(0)],
    [
      'new workers went on counting on the copy',
      { beats: 105, at: NOON + 15_000 },
      NEXT,
      lost(0.25),
    ],
    ['a copy from before the term that is remembered', LATER, {}, lost(3)],
    ['the same, and the copy knows a term before its own', LATER, { before: EARLIER }, lost(3)],
    ['the same, and new workers went on counting', LATER, OLDER, lost(3)],
    ['a copy from before it was emptied', LATER, { ...EARLIER, server: 'z' }, lost(13)],
  ])('%s', (_, memory, epoch, expected, seen) => {
    expect(verdictOf(memory, epoch, seen)).toBe(expected);
  });
});

describe('a Redis that nothing remembers', () => {
  const HIDDEN = { server: '' };
  const SET_BACK = { now: NOON - 60 * MINUTE, startedAt: NOON - 61 * MINUTE };
  it.each<[string, Partial<Epoch> | undefined, string, Partial<EpochReading>?]>([
    ['a new installation', undefined, GOES_ON],
    ['workers were restarted', {}, GOES_ON, { server: 'a' }],
    ['workers were restarted after a day', {}, GOES_ON, { ...MUCH_LATER, server: 'a' }],
    ['planned maintenance over the weekend', { stopped: true }, GOES_ON, MUCH_LATER],
    ['a crash and a restart', {}, RESTART, { startedAt: NOON + MINUTE }],
    ['a nightly copy, or a long power cut', {}, gap(599 * MINUTE), MUCH_LATER],
    ['a replica was promoted a while ago', {}, gap(2 * MINUTE), RUN_LONG],
    ['a replica was promoted just now', {}, RESTART, { ...RUN_LONG, now: NOON + 10_000 }],
    ['a server without a name has run all the time', HIDDEN, GOES_ON, { ...RUN_LONG, ...HIDDEN }],
    ['a server without a name was started since', HIDDEN, gap(2 * MINUTE - 1_000), HIDDEN],
    ['a server that says nothing', HIDDEN, GOES_ON, { ...HIDDEN, startedAt: 0 }],
    ['its clock was set back', {}, RESTART, SET_BACK],
  ])('%s', (_, epoch, expected, seen) => {
    expect(verdictOf(undefined, epoch, seen)).toBe(expected);
  });
});
