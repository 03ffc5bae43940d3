import { describe, expect, it } from 'vitest';
import type { UnknownOverview, UnknownNotice } from '../../../../src/ops/unknown.ts';
import { auditPage } from '../../../../src/ops/web/pages/audit.ts';
import { batchPage, type BatchPageData } from '../../../../src/ops/web/pages/batch.ts';
import { batchesPage } from '../../../../src/ops/web/pages/batches.ts';
import { span } from '../../../../src/ops/web/pages/elements.ts';
import { unknownPage } from '../../../../src/ops/web/pages/unknown.ts';
import { batchCounts, EVIL, lookOf, NOW, someBatch } from './snapshots.ts';

const operator = lookOf('operator');
const viewer = lookOf('viewer');
const FORMS = /<form|<button|<details|csrf-token/;

const group = {
  state: 'rejected',
  code: 'INVALID_CONTACT',
  contacts: 3,
  parts: 2,
  message: 'no such number',
  example: { contact: '010******01' },
} as const;

function sightOf(some: Partial<BatchPageData> = {}): BatchPageData {
  return {
    batch: someBatch(),
    standstill: undefined,
    failures: { groups: [], complete: true },
    noRedrive: undefined,
    ...some,
  };
}

describe('one batch', () => {
  it.each([
    ['importing', ['pause', 'cancel']],
    ['sending', ['pause', 'cancel']],
    ['paused', ['resume', 'cancel']],
    ['cancelled', []],
    ['finished', []],
  ] as const)('%s may be told to %j', (phase, acts) => {
    const { text } = batchPage(sightOf({ batch: someBatch({ phase }) }), operator);
    const offered = [...text.matchAll(/action="\/api\/v1\/batches\/spring-sale\/(\w+)"/g)];
    expect(offered.map(([, act]) => act)).toEqual(acts);
    expect(text).toContain(`<span class="tag ${phase}">${phase}</span>`);
    expect(text.includes('contacts a second</span>')).toBe(phase === 'sending');
  });

  it('says how far it is, why it stands still, and what is about to be lost', () => {
    const batch = someBatch({
      counts: batchCounts({ pending: 5, accepted: 1_000, maybeTwice: 2 }),
      lossNear: { contacts: 12, keptUntil: NOW + 7_200_000, restMs: 7_200_000 },
    });
    const { text } = batchPage(sightOf({ batch, standstill: 'the queue is held' }), operator);
    expect(text).toContain('data-field="counts.total">1,005<');
    expect(text).toContain('about 2 min left');
    expect(text).toContain('It stands still: the queue is held.');
    expect(text).toMatch(/12 contacts that were not accepted are deleted\s+<time[^>]+>in 2 h</);
    expect(text).toContain('At most 2 messages came twice.');
    expect(text).toContain('Nothing so far.');
    expect(text).not.toContain('failures.csv');
  });

  it.each([
    ['rejected', true],
    ['expired', true],
    ['unknown', true],
    ['cancelled', false],
  ] as const)('%s contacts can be sent again: %s', (state, can) => {
    const failures = { groups: [{ ...group, state }], complete: true };
    const { text } = batchPage(sightOf({ failures }), operator);
    expect(text.includes('/redrive"')).toBe(can);
    expect(text.includes('They may arrive twice')).toBe(state === 'unknown');
  });

  it('says what was refused, and why nothing can be sent again where it cannot', () => {
    const failures = { groups: [group], complete: false };
    const sight = sightOf({ failures, noRedrive: 'it is cancelled' });
    const { text } = batchPage(sight, operator);
    expect(text).toContain('for example contact 010******01');
    expect(text).toContain('Nothing of it can be sent again now: it is cancelled.');
    expect(text).toContain('the counts above are exact');
    expect(text).not.toContain('/redrive"');
  });

  it('offers lists of what was not accepted, to whoever may act', () => {
    const counts = batchCounts({ accepted: 1, rejected: 2, unknown: 3 });
    const sight = sightOf({ batch: someBatch({ phase: 'finished', counts }) });
    const links = (look: typeof operator) =>
      [...batchPage(sight, look).text.matchAll(/failures\.csv\?state=(\w+)/g)].map(([, it]) => it);
    expect(links(operator)).toEqual(['rejected', 'unknown']);
    expect(links(viewer)).toEqual([]);
  });

  it('a viewer sees no form, and what the service says is text', () => {
    const evil = { ...group, code: EVIL, message: EVIL, example: { [EVIL]: EVIL } };
    const failures = { groups: [evil], complete: true };
    const batch = someBatch({ templateCode: EVIL });
    const sight = sightOf({ batch, failures, standstill: EVIL, noRedrive: undefined });
    expect(batchPage(sight, viewer).text).not.toMatch(FORMS);
    for (const look of [viewer, operator]) {
      expect(batchPage(sight, look).text).not.toMatch(/<script>|<img/);
    }
    // A code becomes part of an id: of that nothing is left but letters, digits and hyphens.
    expect(batchPage(sight, operator).text).toMatch(/ id="why-rejected-[A-Za-z0-9-]+"/);
  });
});

describe('the list of batches', () => {
  const list = (some: Partial<Parameters<typeof batchesPage>[0]> = {}) =>
    batchesPage({ batches: [someBatch()], total: 1, offset: 0, next: null, ...some }, viewer).text;

  it('says how there comes to be one', () => {
    expect(list({ batches: [], total: 0 })).toContain('notices import customers.csv');
  });

  it('shows where each stands', () => {
    const text = list();
    expect(text).toContain('href="/batches/spring-sale"');
    expect(text).toContain('6.7/s');
    expect(text).toContain('2 min left');
    expect(text).not.toMatch(/Newest|Older/);
  });

  it('leads to what is unknown, and to the other pages of the list', () => {
    const batch = someBatch({
      phase: 'finished',
      counts: batchCounts({ rejected: 2, unknown: 3 }),
    });
    const text = list({ batches: [batch], total: 120, offset: 50, next: 100 });
    expect(text).toMatch(/href="\/unknown">3 unknown</);
    expect(text).toContain('51 to 51 of 120');
    expect(text).toContain('href="/batches?offset=100"');
    expect(text).toContain('>Newest<');
    expect(text).not.toContain('/s</td>');
  });

  it('takes what comes from elsewhere as text', () => {
    expect(list({ batches: [someBatch({ templateCode: EVIL })] })).not.toMatch(/<script>|<img/);
  });
});

describe('the desk', () => {
  const notice: UnknownNotice = {
    id: 'n-1',
    at: NOW - 60_000,
    template: 'SALE',
    contacts: 2,
    code: 'ECONNRESET',
    stage: 'sent',
    delivery: 'at-most-once',
  };
  const ofBatch = {
    batch: 'spring-sale',
    template: 'SALE',
    contacts: 4,
    begunAt: operator.now - 7_200_000,
  };
  const desk = (some: Partial<UnknownOverview>, look = operator) =>
    unknownPage({ notices: [], listed: 0, batches: [], ...some }, look).text;

  it('says so where nothing is unknown', () => {
    expect(desk({})).toContain('Nothing is unknown');
  });

  it('asks for a decision, and takes none for granted', () => {
    const text = desk({ notices: [notice], listed: 1, batches: [ofBatch] });
    expect(text.match(/type="radio"/g)).toHaveLength(6);
    expect(text).not.toContain('checked');
    expect(text).toContain('name="ids" value="n-1"');
    expect(text).toContain('name="batch" value="spring-sale"');
    expect(text).toContain('2 h ago');
    expect(text.match(/name="why"[^>]*required/g)).toHaveLength(2);
  });

  it('says where it shows a part', () => {
    expect(desk({ notices: [notice], listed: 300 })).toContain('The oldest 1 of 300.');
    expect(desk({ notices: [notice], listed: 1 })).not.toContain('The oldest');
  });

  it('is for a viewer to look at', () => {
    const all = { notices: [notice], listed: 1, batches: [ofBatch] };
    expect(desk(all, viewer)).not.toMatch(/<form|<button|<details|<input/);
    expect(desk(all, viewer)).toContain('n-1');
  });

  it('takes what comes from elsewhere as text', () => {
    const evil = { ...notice, id: EVIL, template: EVIL, code: EVIL };
    const batches = [{ ...ofBatch, template: EVIL }];
    expect(desk({ notices: [evil], listed: 1, batches })).not.toMatch(/<script>|<img/);
  });
});

describe('the audit', () => {
  it('is empty at first', () => {
    expect(auditPage([], viewer).text).toContain('Nobody has done anything by hand yet.');
  });

  it('says who did what, and why, in words that are text', () => {
    const entry = { at: NOW - 1_000, who: EVIL, target: EVIL, as: EVIL, why: EVIL } as const;
    const { text } = auditPage([{ ...entry, what: 'hold', contacts: 1_234 }], viewer);
    expect(text).toContain('>1,234<');
    expect(text).toContain('1 s ago');
    expect(text).not.toMatch(/<script>|<img/);
    expect(text.match(/&lt;script&gt;/g)).toHaveLength(4);
  });
});

it.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1_000, '1 s'],
  [59_400, '59 s'],
  [90_000, '2 min'],
  [7_200_000, '2 h'],
  [172_800_000, '2 d'],
])('%d ms are %s', (ms, words) => {
  expect(span(ms)).toBe(words);
});
