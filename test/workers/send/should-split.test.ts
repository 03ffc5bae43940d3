import { describe, expect, it } from 'vitest';
import type { DeliveryPolicy } from '../../../src/contracts/delivery.ts';
import { shouldSplit } from '../../../workers/send/should-split.ts';

const STATUSES = [undefined, 200, 400, 403, 404, 409, 413, 422] as const;

/** Statuses after which it is split. */
const splitAfter = (isSplit: (status: number | undefined) => boolean) =>
  STATUSES.filter((status) => isSplit(status));

describe('a rejected group', () => {
  it.each<[number, DeliveryPolicy, readonly (number | undefined)[]]>([
    [1, 'at-least-once', []],
    [1, 'at-most-once', []],
    [2, 'at-least-once', STATUSES],
    [100, 'at-least-once', STATUSES],
    [2, 'at-most-once', [400, 403, 404, 409, 413, 422]],
    [100, 'at-most-once', [400, 403, 404, 409, 413, 422]],
  ])('of %i notices, %s, is split after %s', (size, delivery, statuses) => {
    const isSplit = (status: number | undefined) =>
      shouldSplit({ kind: 'group', size, status, delivery });
    expect(splitAfter(isSplit)).toEqual(statuses);
  });
});

describe('a rejected chunk', () => {
  const CAUSED_BY_A_CONTACT = [400, 413, 422];

  it.each<[number, boolean, readonly number[]]>([
    [1, true, []],
    [2, true, CAUSED_BY_A_CONTACT],
    [1_000, true, CAUSED_BY_A_CONTACT],
    [1_000, false, []],
  ])('of %i contacts, bisect %s, is split after %s', (size, bisect, statuses) => {
    const isSplit = (status: number | undefined) =>
      shouldSplit({ kind: 'chunk', size, status, bisect });
    expect(splitAfter(isSplit)).toEqual(statuses);
  });
});
