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

describe('a Redis that is remembered', () => {
  it.each<[string, Partial<Term>, Partial<Epoch> | undefined, Partial<EpochReading>, string]>([
    ['emptied', {}, undefined, {}, 'continue'],
    ['nothing has happened', {}, {}, {}, 'continue'],
    ['others went on', { beats: 90 }, {}, {}, 'continue'],
    ['a power cut with AOF, however long', {}, {}, MUCH_LATER, 'continue'],
    ['the same, and new workers went on', {}, NEXT, {}, 'continue'],
    ['two servers since', EARLIER, NEXT, {}, 'continue'],
    ['emptied, and used since', {}, { ...LATER }, {}, 'continue'],
    [
      'a restored nightly copy',
      { beats: 5_000, at: NOON + 400 * MINUTE },
      {},
      {},
      `suspect went-back, ${400 * MINUTE} ms`,
    ],
    [
      'a copy from after a clean shutdown',
      { beats: 101, at: NOON + 9_000 },
      { stopped: true },
      {},
      'suspect went-back, 9000 ms',
    ],
    [
      'a replica that lagged, within the tolerance',
      { beats: 101, at: NOON + 2_000 },
      {},
      RUN_LONG,
      'tolerate went-back, 2000 ms',
    ],
    [
      'a replica that lagged, beyond it',
      { beats: 101, at: NOON + 2_001 },
      {},
      RUN_LONG,
      'suspect went-back, 2001 ms',
    ],
    [
      'a clock went back meanwhile: how much is missing is not known, so it is not tolerated',
      { beats: 101, at: NOON - 5_000 },
      {},
      {},
      'suspect went-back, 0 ms',
    ],
    [
      'new workers went on counting on the copy',
      { beats: 105, at: NOON + 25_000 },
      NEXT,
      {},
      'suspect went-back, 25000 ms',
    ],
    [
      'a copy from before the term that is remembered',
      LATER,
      {},
      {},
      `suspect went-back, ${3 * MINUTE} ms`,
    ],
    [
      'the same, and the copy knows a term before its own',
      LATER,
      { before: EARLIER },
      {},
      `suspect went-back, ${3 * MINUTE} ms`,
    ],
    [
      'the same, and new workers went on counting',
      LATER,
      { ...NEXT, id: 'three', bornAt: NOON + 9 * MINUTE },
      {},
      `suspect went-back, ${3 * MINUTE} ms`,
    ],
    [
      'a copy from before it was emptied',
      LATER,
      { ...EARLIER, server: 'z' },
      {},
      `suspect went-back, ${13 * MINUTE} ms`,
    ],
  ])('%s', (_, memory, epoch, seen, expected) => {
    expect(verdictOf(memory, epoch, seen)).toBe(expected);
  });
});

describe('a Redis that nothing remembers', () => {
  const HIDDEN = { server: '' };
  it.each<[string, Partial<Epoch> | undefined, Partial<EpochReading>, string]>([
    ['a new installation', undefined, {}, 'continue'],
    ['workers were restarted', {}, { server: 'a' }, 'continue'],
    ['workers were restarted after a day', {}, { ...MUCH_LATER, server: 'a' }, 'continue'],
    ['planned maintenance over the weekend', { stopped: true }, MUCH_LATER, 'continue'],
    ['a crash and a restart', {}, { startedAt: NOON + MINUTE }, 'continue, a restart'],
    ['a nightly copy, or a long power cut', {}, MUCH_LATER, `suspect gap, ${599 * MINUTE} ms`],
    ['a replica was promoted a while ago', {}, RUN_LONG, `suspect gap, ${2 * MINUTE} ms`],
    [
      'a replica was promoted just now',
      {},
      { ...RUN_LONG, now: NOON + 10_000 },
      'continue, a restart',
    ],
    [
      'a server without a name has run all the time',
      HIDDEN,
      { ...RUN_LONG, ...HIDDEN },
      'continue',
    ],
    [
      'a server without a name was started since',
      HIDDEN,
      HIDDEN,
      `suspect gap, ${2 * MINUTE - 1_000} ms`,
    ],
    ['a server that says nothing', HIDDEN, { ...HIDDEN, startedAt: 0 }, 'continue'],
    [
      'its clock was set back',
      {},
      { now: NOON - 60 * MINUTE, startedAt: NOON - 61 * MINUTE },
      'continue, a restart',
    ],
  ])('%s', (_, epoch, seen, expected) => {
    expect(verdictOf(undefined, epoch, seen)).toBe(expected);
  });
});
