import { describe, expect, it } from 'vitest';
import { MINUTE, NOON, verdictOf, wanted, type Row } from './support/epoch-rows.ts';

describe('a Redis without a memory of its epoch', () => {
  it.each<Row>([
    {
      name: 'workers were restarted',
      epoch: {},
      seen: { server: 'a' },
      expected: 'continue',
    },
    {
      name: 'workers were restarted after a day',
      epoch: {},
      seen: { server: 'a', now: NOON + 1_440 * MINUTE, startedAt: NOON - MINUTE },
      expected: 'continue',
    },
    {
      name: 'planned maintenance over the weekend',
      epoch: { stopped: true },
      seen: { now: NOON + 3_000 * MINUTE, startedAt: NOON + 2_999 * MINUTE },
      expected: 'continue',
    },
    {
      name: 'a crash and a restart at once',
      epoch: {},
      seen: { startedAt: NOON + MINUTE },
      expected: 'continue, a restart',
    },
    {
      name: 'started long after it was heard of: a nightly copy, or a long power cut',
      epoch: {},
      seen: { startedAt: NOON + MINUTE + 1 },
      expected: 'suspect gap',
      missing: MINUTE + 1,
    },
    {
      name: 'a replica was promoted a while ago: now bounds what is missing',
      epoch: {},
      seen: { startedAt: NOON - 60 * MINUTE },
      expected: 'suspect gap',
      missing: 2 * MINUTE,
    },
    {
      name: 'a replica was promoted just now',
      epoch: {},
      seen: { startedAt: NOON - 60 * MINUTE, now: NOON + 10_000 },
      expected: 'continue, a restart',
    },
    {
      name: 'a server that hides its name has run all the time',
      epoch: { server: '' },
      seen: { server: '', startedAt: NOON - MINUTE },
      expected: 'continue',
    },
    {
      name: 'a server that hides its name was started since',
      epoch: { server: '' },
      seen: { server: '' },
      expected: 'suspect gap',
      missing: 2 * MINUTE - 1_000,
    },
    {
      name: 'a server that says nothing at all',
      epoch: { server: '' },
      seen: { server: '', startedAt: 0 },
      expected: 'continue',
    },
    {
      name: 'its clock was set back',
      epoch: {},
      seen: { now: NOON - 60 * MINUTE, startedAt: NOON - 61 * MINUTE },
      expected: 'continue, a restart',
    },
  ])('$name', (row) => expect(verdictOf(row)).toBe(wanted(row)));
});
