import { describe, expect, it } from 'vitest';
import { EVENT, MINUTE, NOON, verdictOf, wanted, type Row } from './support/epoch-rows.ts';

describe('a Redis without an epoch', () => {
  it.each<Row>([
    { name: 'a new installation', expected: 'continue' },
    { name: 'FLUSHALL under a living worker', memory: {}, expected: 'continue' },
    {
      name: 'restarted without persistence, a file remembers',
      memory: { by: 'file' },
      expected: 'continue',
    },
    {
      name: 'a copy from before there were epochs',
      memory: {},
      olderWork: true,
      expected: 'suspect went-back',
      missing: 10 * MINUTE,
    },
  ])('$name', (row) => expect(verdictOf(row)).toBe(wanted(row)));
});

describe('a Redis with a memory of its epoch', () => {
  it.each<Row>([
    { name: 'nothing has happened', memory: {}, epoch: {}, expected: 'continue' },
    { name: 'others went on', memory: { beats: 90 }, epoch: {}, expected: 'continue' },
    {
      name: 'a power cut with AOF: another server, nothing is missing, however long it took',
      memory: {},
      epoch: {},
      seen: { now: NOON + 600 * MINUTE, startedAt: NOON + 599 * MINUTE },
      expected: 'continue',
    },
    {
      name: 'the same, by a file',
      memory: { by: 'file' },
      epoch: {},
      seen: { now: NOON + 600 * MINUTE, startedAt: NOON + 599 * MINUTE },
      expected: 'continue',
    },
    {
      name: 'a restored nightly copy',
      memory: { beats: 5_000, at: NOON + 400 * MINUTE },
      epoch: {},
      expected: 'suspect went-back',
      missing: 400 * MINUTE,
    },
    {
      name: 'the same, by a file',
      memory: { beats: 5_000, at: NOON + 400 * MINUTE, by: 'file' },
      epoch: {},
      expected: 'suspect went-back',
      missing: 400 * MINUTE,
    },
    {
      name: 'a copy from after a stop in order: the file knows better',
      memory: { beats: 101, at: NOON + 9_000, by: 'file' },
      epoch: { stopped: true },
      expected: 'suspect went-back',
      missing: 9_000,
    },
    {
      name: 'a replica that lagged, within the tolerance',
      memory: { beats: 101, at: NOON + 2_000 },
      epoch: {},
      seen: { startedAt: NOON - 60 * MINUTE },
      expected: 'tolerate went-back',
      missing: 2_000,
    },
    {
      name: 'a replica that lagged, beyond it',
      memory: { beats: 101, at: NOON + 2_001 },
      epoch: {},
      seen: { startedAt: NOON - 60 * MINUTE },
      expected: 'suspect went-back',
      missing: 2_001,
    },
    {
      name: 'missing while a clock went back: how much is not known, so it is not tolerated',
      memory: { beats: 101, at: NOON - 5_000 },
      epoch: {},
      expected: 'suspect went-back',
      missing: 0,
    },
    {
      name: 'new workers went on counting on the copy before the witness came',
      memory: { beats: 105, at: NOON + 25_000 },
      epoch: {
        beats: 200,
        server: 'b',
        at: NOON + 3 * MINUTE,
        earlier: { beats: 100, at: NOON },
      },
      expected: 'suspect went-back',
      missing: 25_000,
    },
    {
      name: 'the same, and nothing is missing',
      memory: {},
      epoch: {
        beats: 200,
        server: 'b',
        at: NOON + 3 * MINUTE,
        earlier: { beats: 100, at: NOON },
      },
      expected: 'continue',
    },
    {
      name: 'two servers since, and nothing is missing',
      memory: {},
      epoch: {
        beats: 300,
        server: 'c',
        earlier: { beats: 200, at: NOON + MINUTE },
      },
      expected: 'continue',
    },
    {
      name: 'a copy from before the server that is remembered',
      memory: { beats: 105, server: 'never-heard-of', at: NOON + 10_000 },
      epoch: {},
      expected: 'suspect went-back',
      missing: 10_000,
    },
    {
      name: 'the same, and new workers went on counting',
      memory: { beats: 105, server: 'never-heard-of', at: NOON + 10_000 },
      epoch: {
        beats: 200,
        server: 'b',
        at: NOON + 3 * MINUTE,
        earlier: { beats: 100, at: NOON },
      },
      expected: 'suspect went-back',
      missing: 10_000,
    },
    {
      name: 'servers that hide their names',
      memory: { server: '' },
      epoch: { server: '' },
      expected: 'continue',
    },
    {
      name: 'servers that hide their names, and a heartbeat is missing',
      memory: { server: '', beats: 105, at: NOON + 25_000 },
      epoch: { server: '' },
      expected: 'suspect went-back',
      missing: 25_000,
    },
  ])('$name', (row) => expect(verdictOf(row)).toBe(wanted(row)));
});

describe('a Redis in another epoch than is remembered', () => {
  it.each<Row>([
    {
      name: 'emptied, and used by others since',
      memory: {},
      epoch: { id: 'two', bornAt: NOON + MINUTE, at: NOON + MINUTE },
      expected: 'continue',
    },
    {
      name: 'a copy from before it was emptied',
      memory: { bornAt: NOON + MINUTE, at: NOON + 5 * MINUTE },
      epoch: { id: 'zero' },
      expected: 'suspect went-back',
      missing: 5 * MINUTE,
    },
    {
      name: 'a copy from before it was emptied, which others have found',
      memory: { bornAt: NOON + MINUTE, at: NOON + 5 * MINUTE },
      epoch: { id: 'zero', event: EVENT },
      expected: 'continue',
    },
    {
      name: 'a file of another installation, beside a fleet that runs',
      memory: { by: 'file', at: NOON + 5 * MINUTE },
      epoch: { id: 'zero', server: 'b' },
      expected: 'continue',
    },
    {
      name: 'a file of another installation does not vouch',
      memory: { by: 'file', at: NOON + 500 * MINUTE },
      epoch: { id: 'zero' },
      seen: { now: NOON + 500 * MINUTE, startedAt: NOON + 499 * MINUTE },
      expected: 'suspect gap',
      missing: 499 * MINUTE,
    },
  ])('$name', (row) => expect(verdictOf(row)).toBe(wanted(row)));
});

describe('a Redis that looked like an old copy before', () => {
  const later = { beats: 110, at: NOON + 5 * MINUTE, server: 'b' };
  it.each<Row>([
    {
      name: 'others have found it',
      memory: later,
      epoch: { event: EVENT },
      expected: 'continue',
    },
    {
      name: 'others have found it, and the clock of that server was behind',
      memory: later,
      epoch: { event: { ...EVENT, at: NOON - MINUTE } },
      expected: 'continue',
    },
    {
      name: 'others have only been warned, and they knew as much',
      memory: { at: NOON },
      epoch: { event: { ...EVENT, verdict: 'warned' } },
      expected: 'continue',
    },
    {
      name: 'others have only been warned, and more is missing than they knew',
      memory: { at: NOON + 1 },
      epoch: { event: { ...EVENT, verdict: 'warned' } },
      expected: 'suspect went-back',
      missing: MINUTE + 1,
    },
    {
      name: 'since then nothing has happened',
      memory: { event: '1-e' },
      epoch: { event: EVENT },
      expected: 'continue',
    },
    {
      name: 'it happens a second time, with a copy from after the first',
      memory: { event: '1-e', beats: 120, at: NOON + 5 * MINUTE },
      epoch: { event: EVENT },
      expected: 'suspect went-back',
      missing: 5 * MINUTE,
    },
    {
      name: 'it happens a second time, with a copy from before the first',
      memory: { event: '1-e', beats: 120, at: NOON + 5 * MINUTE },
      epoch: {},
      expected: 'suspect went-back',
      missing: 5 * MINUTE,
    },
    {
      name: 'the same, although the copy counts further',
      memory: { event: '2-e', beats: 90, at: NOON + MINUTE },
      epoch: { event: EVENT },
      expected: 'suspect went-back',
      missing: MINUTE,
    },
    {
      name: 'two events since',
      memory: { event: '0-e' },
      epoch: { event: { ...EVENT, id: '3-e' } },
      expected: 'continue',
    },
  ])('$name', (row) => expect(verdictOf(row)).toBe(wanted(row)));
});
