import { describe, expect, it } from 'vitest';
import { allClosed, closedHours, windowsOf } from '../../src/contracts/send-windows.ts';

const opens = (text: string, template: string, now: string) => {
  const closed = closedHours(text, template, Date.parse(now));
  return closed && `${new Date(closed.opensAt).toISOString()} ${closed.words}`;
};

describe('sending hours', () => {
  const SEOUL = 'PROMO_*=08:00-21:00 Asia/Seoul';
  const NIGHT = '*=22:00-02:00 Europe/Berlin';
  const EARLY = '*=02:30-02:45 Europe/Berlin';
  const LATE = '*=02:30-05:00 Europe/Berlin';
  const NEPAL = '*=08:00-09:00 Asia/Kathmandu';
  const APIA = '*=08:00-09:00 Pacific/Apia';
  const SPLIT = 'A=09:00-12:00,13:00-24:00 UTC; B*=10:00-11:00 UTC;*=00:00-24:00 UTC';
  it.each([
    // Seoul is nine hours ahead, without daylight saving.
    [SEOUL, 'PROMO_1', '2026-05-01T22:59:59.999Z', '2026-05-01T23:00:00.000Z 08:00 (Asia/Seoul)'],
    [SEOUL, 'PROMO_1', '2026-05-01T23:00:00.000Z', undefined],
    [SEOUL, 'PROMO_1', '2026-05-02T11:59:59.999Z', undefined],
    [SEOUL, 'PROMO_1', '2026-05-02T12:00:00.000Z', '2026-05-02T23:00:00.000Z 08:00 (Asia/Seoul)'],
    [SEOUL, 'PROMO', '2026-05-02T12:00:00.000Z', undefined],
    [SEOUL, 'A_PROMO_1', '2026-05-02T12:00:00.000Z', undefined],
    // Several spans, the first entry that matches.
    [SPLIT, 'A', '2026-05-01T12:00:00.000Z', '2026-05-01T13:00:00.000Z 13:00 (UTC)'],
    [SPLIT, 'A', '2026-05-01T23:59:59.999Z', undefined],
    [SPLIT, 'A', '2026-05-02T00:00:00.000Z', '2026-05-02T09:00:00.000Z 09:00 (UTC)'],
    [SPLIT, 'B', '2026-05-01T11:00:00.000Z', '2026-05-02T10:00:00.000Z 10:00 (UTC)'],
    [SPLIT, 'C', '2026-05-01T03:00:00.000Z', undefined],
    // Over midnight.
    [NIGHT, 'N', '2026-01-15T20:59:00.000Z', '2026-01-15T21:00:00.000Z 22:00 (Europe/Berlin)'],
    [NIGHT, 'N', '2026-01-15T23:30:00.000Z', undefined],
    [NIGHT, 'N', '2026-01-16T00:59:59.999Z', undefined],
    [NIGHT, 'N', '2026-01-16T01:00:00.000Z', '2026-01-16T21:00:00.000Z 22:00 (Europe/Berlin)'],
    // Daylight saving begins between these two, and ends between the next two.
    [NIGHT, 'N', '2026-03-28T12:00:00.000Z', '2026-03-28T21:00:00.000Z 22:00 (Europe/Berlin)'],
    [NIGHT, 'N', '2026-03-29T12:00:00.000Z', '2026-03-29T20:00:00.000Z 22:00 (Europe/Berlin)'],
    [NIGHT, 'N', '2026-10-24T12:00:00.000Z', '2026-10-24T20:00:00.000Z 22:00 (Europe/Berlin)'],
    [NIGHT, 'N', '2026-10-25T12:00:00.000Z', '2026-10-25T21:00:00.000Z 22:00 (Europe/Berlin)'],
    // The night of the change has no 02:30: the window is skipped. The other one has two.
    [EARLY, 'E', '2026-03-29T00:59:00.000Z', '2026-03-30T00:30:00.000Z 02:30 (Europe/Berlin)'],
    [EARLY, 'E', '2026-10-25T00:29:00.000Z', '2026-10-25T00:30:00.000Z 02:30 (Europe/Berlin)'],
    [EARLY, 'E', '2026-10-25T00:45:00.000Z', '2026-10-25T01:30:00.000Z 02:30 (Europe/Berlin)'],
    // A window whose beginning is skipped opens when the clock is past it.
    [LATE, 'E', '2026-03-29T00:59:00.000Z', '2026-03-29T01:00:00.000Z 03:00 (Europe/Berlin)'],
    // Quarters of an hour, and a day that a zone skipped.
    [NEPAL, 'K', '2026-05-01T00:00:00.000Z', '2026-05-01T02:15:00.000Z 08:00 (Asia/Kathmandu)'],
    [APIA, 'P', '2011-12-30T09:59:00.000Z', '2011-12-30T18:00:00.000Z 08:00 (Pacific/Apia)'],
  ])('%s, %s at %s: %s', (text, template, now, expected) => {
    expect(opens(text, template, now)).toBe(expected);
  });

  it.each([
    '',
    ';',
    'PROMO_*=08:00-21:00',
    'PROMO_*=8-21 Asia/Seoul',
    'P=08:00-08:00 UTC',
    'P=08:00-24:01 UTC',
    'P=08:00-21:00 UTC; Q=08:00-21:00 Asia/Soul',
  ])('%j are refused', (text) => {
    expect(windowsOf(text)).toBeUndefined();
    expect(closedHours(text, 'P', 0)).toBeUndefined();
  });

  it('are answered alike whatever was asked before, also when the clock goes back', () => {
    const at = (now: string) => closedHours(SEOUL, 'PROMO_1', Date.parse(now)) !== undefined;
    const times = [
      '2026-05-01T22:59:30Z',
      '2026-05-01T23:00:30Z',
      '2026-05-01T22:59:00Z',
      '2026-05-02T12:00:10Z',
    ];
    expect(times.map(at)).toEqual([true, false, true, true]);
    expect(allClosed(SEOUL, Date.parse('2026-05-02T10:00:00Z'))).toEqual([]);
    expect(allClosed(SEOUL, Date.parse('2026-05-01T22:59:30Z'))).toMatchObject([
      { pattern: 'PROMO_*' },
    ]);
  });
});
