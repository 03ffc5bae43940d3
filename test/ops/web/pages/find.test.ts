import { describe, expect, it } from 'vitest';
import type { FindReport } from '../../../../src/search/find-contact.ts';
import { findPage } from '../../../../src/ops/web/pages/find.ts';
import { EVIL, viewOf, NOW } from './snapshots.ts';

const searched = {
  since: NOW - 7 * 86_400_000,
  batches: 3,
  contacts: 1_234,
  unindexedChunks: 0,
  wrongHit: 2.9e-7,
};
const draw = (report: Partial<FindReport>) => {
  const found = { notices: [], contacts: [], searched, ...report };
  return findPage({ canFind: true, report: found }, viewOf('viewer')).text;
};

describe('search results', () => {
  it('shows the possible states, and why they are not confirmed', () => {
    const text = draw({
      notices: [
        { job: 'n-1', states: ['accepted', 'expired'], confirmed: false, at: NOW - 60_000 },
      ],
      contacts: [
        {
          batch: 'autumn',
          template: 'SALE',
          chunk: 1_200,
          states: ['rejected'],
          confirmed: false,
          at: NOW - 120_000,
          code: 'INVALID_CONTACT',
        },
      ],
    });
    for (const words of [
      '<td data-label="State">accepted or expired</td>',
      '<td data-label="Confirmed">no: the job is no longer kept</td>',
      '>60 s ago <span class="quiet small clock">03:03 UTC<',
      '<a href="/batches/autumn">autumn</a>, chunk 1,200',
      '<i class="dot rejected"></i>rejected',
      '<td data-label="Confirmed">probably: the contact has been deleted</td>',
      '<code>INVALID_CONTACT</code>',
      '<td data-label="Template">SALE</td>',
    ]) {
      expect(text).toContain(words);
    }
  });

  it('shows what was covered', () => {
    const text = draw({}).replaceAll(/\s+/g, ' ');
    expect(text).toMatch(
      /the last 7 d <span class="quiet small clock">[\d-]{10} 03:04 UTC<\/span><\/time ?>: single notices, and 1,234 contacts of 3 batches\./,
    );
    expect(text).toContain('belongs to another number: less than 0.01 %.');
    expect(text).not.toContain('could not be searched');
    const blind = { ...searched, contacts: 0, unindexedChunks: 12 };
    const some = draw({ searched: blind }).replaceAll(/\s+/g, ' ');
    expect(some).toContain('12 chunks could not be searched: stored without FIND_KEY');
    expect(some).not.toContain('another number');
  });

  it('escapes texts of others', () => {
    const found = { states: ['rejected'], confirmed: true, at: NOW, code: EVIL } as const;
    const text = draw({
      notices: [{ ...found, job: EVIL, template: EVIL }],
      contacts: [{ ...found, batch: 'b', chunk: 0, template: EVIL }],
    });
    expect(text).not.toMatch(/<script>|<img/);
  });
});
