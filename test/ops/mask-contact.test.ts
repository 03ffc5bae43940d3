import { describe, expect, it } from 'vitest';
import { maskNumber } from '../../src/ops/mask-contact.ts';
import { showJob } from '../../src/ops/web/board/masked-queue.ts';

it.each([
  ['01012345678', '010******78'],
  ['12345678901234567890', '123***************90'],
  ['15881588', '158***88'],
  ['1588158', '158****'],
  ['15881', '158**'],
  ['1588', '****'],
])('of %s at most five digits are shown', (number, shown) => {
  expect(maskNumber(number)).toBe(shown);
});

describe('what is shown of a contact', () => {
  const contact = {
    contact: '01012345678',
    var1: 'Kim',
    '010-9876-5432': 'x',
    Kim01098765432: [1],
  };

  it('has none on the board, at any level', () => {
    const job = {
      v: 1,
      '01098765432': 1,
      notice: { templateCode: 'T', '0109876': 2, contacts: [contact] },
    };
    expect(JSON.stringify(showJob(job))).not.toMatch(/[0-9]{4,}/);
  });

  it.each(['v', 'chunk', 'contacts', 'accepted', 'expiresAt'])(
    'has none on the board in the place of a count or time: %s',
    (field) => {
      for (const number of ['01012345678', 1_012_345_678, 821_012_345_678, '010-1234-5678']) {
        const shown = showJob({ [field]: number, notice: { [field]: number } });
        expect(JSON.stringify(shown)).not.toMatch(/1234/);
      }
      expect(showJob({ [field]: 1_000 })).toEqual({ [field]: 1_000 });
    },
  );

  it('has the time at which a job expires', () => {
    const expiresAt = Date.UTC(2026, 0, 1);
    expect(showJob({ expiresAt })).toEqual({ expiresAt });
  });
});
