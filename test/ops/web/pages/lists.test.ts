import { describe, expect, it } from 'vitest';
import type { OperationOutput } from '../../../../src/ops/operations/operations.ts';
import { auditPage } from '../../../../src/ops/web/pages/audit.ts';
import { batchPage, type BatchPageData } from '../../../../src/ops/web/pages/batch.ts';
import { batchesPage } from '../../../../src/ops/web/pages/batches.ts';
import { unknownPage } from '../../../../src/ops/web/pages/unknown.ts';
import { batchCounts, EVIL, viewOf, NOW, someBatch } from './snapshots.ts';

const operator = viewOf('operator');
const viewer = viewOf('viewer');
const FORMS = /<form|<button|<details|csrf-token/;

const group = {
  state: 'rejected',
  code: 'INVALID_CONTACT',
  contacts: 3,
  parts: 2,
  message: 'no such number',
  example: { contact: '010******01' },
} as const;

function dataOf(some: Partial<BatchPageData> = {}): BatchPageData {
  return {
    batch: someBatch(),
    standstill: undefined,
    importStopped: false,
    failures: { at: NOW, groups: [] },
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
  ] as const)('%s offers %j', (phase, acts) => {
    const { text } = batchPage(dataOf({ batch: someBatch({ phase }) }), operator);
    const offered = [...text.matchAll(/action="\/api\/v1\/batches\/spring-sale\/(\w+)"/g)];
    expect(offered.map(([, act]) => act)).toEqual(acts);
    expect(text).toContain(`<span class="tag ${phase}">${phase}</span>`);
    expect(text.includes('contacts a second</span>')).toBe(phase === 'sending');
  });

  it('says who paused it, when, why, and how far it is', () => {
    const batch = someBatch({
      phase: 'paused',
      counts: batchCounts({ pending: 3_427, accepted: 1_200 }),
    });
    const paused = {
      at: NOW - 300_000,
      who: 'otto',
      what: 'batch',
      target: 'batch spring-sale',
      as: 'paused',
      why: 'the text is wrong',
    } as const;
    const text = batchPage(dataOf({ batch, paused }), operator).text.replaceAll(/\s+/g, ' ');
    expect(text).toMatch(/Paused by otto <time[^>]+>5 min ago .*?: the text is wrong\./);
    expect(text).toContain('1,200 of 4,627 contacts are done.');
  });

  it('shows its progress, why nothing is sent, and what will soon be deleted', () => {
    const batch = someBatch({
      counts: batchCounts({ pending: 5, accepted: 1_000, possiblySentTwice: 2 }),
      lossNear: { contacts: 12, keptUntil: NOW + 7_200_000, restMs: 7_200_000 },
    });
    const { text } = batchPage(dataOf({ batch, standstill: 'the queue is held' }), operator);
    expect(text).toContain('<dd>1,005</dd>');
    expect(text).toContain('about 90 s left');
    expect(text).toContain('Not sending: the queue is held.');
    expect(text).toMatch(
      /12 contacts that were\s+not accepted will be deleted\s+<time[^>]+>in 2 h <span/,
    );
    expect(text).toContain('2 messages at most may have arrived twice.');
    expect(text).toContain('Nothing so far.');
    expect(text).not.toContain('failures.csv');
  });

  it('counts the rows that were read, of which some are refused or duplicates', () => {
    const batch = someBatch({ rows: 8, refusedRows: 2, duplicateRows: 1 });
    const { text } = batchPage(dataOf({ batch }), operator);
    expect(text).not.toContain('Rows accepted');
    expect(text).toMatch(/<dt>Rows read<\/dt>\s*<dd>8<\/dd>/);
  });

  it.each([
    ['rejected', true],
    ['expired', true],
    ['unknown', true],
    ['cancelled', false],
  ] as const)('%s contacts can be sent again: %s', (state, can) => {
    const failures = { at: NOW, groups: [{ ...group, state }] };
    const { text } = batchPage(dataOf({ failures }), operator);
    expect(text.includes('/redrive"')).toBe(can);
    // What fails after the page was made is not on it.
    expect(text.includes(`name="before" value="${NOW}"`)).toBe(can);
    expect(text.includes('They may arrive twice')).toBe(state === 'unknown');
  });

  it('shows what was rejected, and why nothing can be sent again', () => {
    const failures = { at: NOW, groups: [group], complete: false };
    const data = dataOf({ failures, noRedrive: 'it is cancelled' });
    const { text } = batchPage(data, operator);
    expect(text).toContain('for example contact 010******01');
    expect(text).toContain('These contacts cannot be sent again now: it is cancelled.');
    expect(text).not.toContain('/redrive"');
  });

  it('offers downloads of what was not accepted to operators only', () => {
    const counts = batchCounts({ accepted: 1, rejected: 2, unknown: 3 });
    const data = dataOf({ batch: someBatch({ phase: 'finished', counts }) });
    const links = (view: typeof operator) =>
      [...batchPage(data, view).text.matchAll(/failures\.csv\?state=(\w+)/g)].map(([, it]) => it);
    expect(links(operator)).toEqual(['rejected', 'unknown']);
    expect(links(viewer)).toEqual([]);
  });

  it('a viewer sees no form, and texts of the service are escaped', () => {
    const evil = { ...group, code: EVIL, message: EVIL, example: { [EVIL]: EVIL } };
    const failures = { at: NOW, groups: [evil] };
    const batch = someBatch({ templateCode: EVIL });
    const data = dataOf({ batch, failures, standstill: EVIL, noRedrive: undefined });
    expect(batchPage(data, viewer).text).not.toMatch(FORMS);
    for (const view of [viewer, operator]) {
      expect(batchPage(data, view).text).not.toMatch(/<script>|<img/);
    }
    // A code becomes part of an id, which keeps only its letters, digits and hyphens.
    expect(batchPage(data, operator).text).toMatch(/ id="why-rejected-[A-Za-z0-9-]+"/);
  });
});

describe('the list of batches', () => {
  const list = (some: Partial<Parameters<typeof batchesPage>[0]> = {}) =>
    batchesPage({ batches: [someBatch()], total: 1, offset: 0, next: null, ...some }, viewer).text;

  it('explains how to create one', () => {
    expect(list({ batches: [], total: 0 })).toContain('notices import customers.csv');
  });

  it('shows the progress of each', () => {
    const text = list();
    expect(text).toContain('href="/batches/spring-sale"');
    expect(text).toContain('6.7/s');
    expect(text).toContain('90 s left');
    expect(text).not.toMatch(/Newest|Older/);
  });

  it('links unknown outcomes and the other pages of the list', () => {
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

  it('escapes texts of others', () => {
    expect(list({ batches: [someBatch({ templateCode: EVIL })] })).not.toMatch(/<script>|<img/);
  });
});

describe('unknown outcomes', () => {
  const notice: OperationOutput<'unknown'>['notices'][number] = {
    numbers: ['010******01', '010******02'],
    id: 'n-1',
    at: NOW - 60_000,
    template: 'SALE',
    contacts: 2,
    code: 'ECONNRESET',
    stage: 'sent',
    delivery: 'at-most-once',
    possiblySent: 1,
  };
  const ofBatch = {
    batch: 'spring-sale',
    template: 'SALE',
    contacts: 4,
    at: operator.now - 7_200_000,
    parts: 1,
    codes: [],
  };
  const draw = (some: Partial<OperationOutput<'unknown'>>, view = operator) =>
    unknownPage(
      { at: NOW, contacts: 0, notices: [], listed: 0, batches: [], allBatches: true, ...some },
      view,
    ).text;

  it('shows a message where there are none', () => {
    expect(draw({})).toContain('No outcome is unknown.');
  });

  it('says which batches were read where older ones are kept', () => {
    const some = draw({ allBatches: false, batches: [ofBatch] });
    expect(some).toContain('This page reads 200 batches with unknown contacts');
    expect(some).toContain('“Select...” with empty fields');
    expect(draw({ allBatches: false, batches: [ofBatch] }, viewer)).not.toContain('Select...');
    expect(draw({ batches: [ofBatch] })).not.toContain('Older');
  });

  it('have a form for the decision, with none preselected', () => {
    const text = draw({ notices: [notice], listed: 1, batches: [ofBatch] });
    expect(text.match(/type="radio"/g)).toHaveLength(6);
    expect(text).not.toContain('checked');
    expect(text).toContain('name="ids" value="n-1"');
    expect(text).toContain('name="batch" value="spring-sale"');
    expect(text).toContain('2 h ago');
    expect(text.match(/name="why"[^>]*required/g)).toHaveLength(2);
  });

  it('shows how many are listed where the page has only a part', () => {
    expect(draw({ notices: [notice], listed: 300 })).toContain('The oldest 1 of 300.');
    expect(draw({ notices: [notice], listed: 1 })).not.toContain('The oldest');
  });

  it('have no form for a viewer', () => {
    const all = { notices: [notice], listed: 1, batches: [ofBatch] };
    expect(draw(all, viewer)).not.toMatch(/<form|<button|<details|<input/);
    expect(draw(all, viewer)).toContain('n-1');
  });

  it('escapes texts of others', () => {
    const evil = { ...notice, id: EVIL, template: EVIL, code: EVIL };
    const batches = [{ ...ofBatch, template: EVIL }];
    expect(draw({ notices: [evil], listed: 1, batches })).not.toMatch(/<script>|<img/);
  });
});

describe('the audit', () => {
  it('is empty at first', () => {
    expect(auditPage([], viewer).text).toContain('No manual action has been recorded yet.');
  });

  it('shows who did what and why, with all texts escaped', () => {
    const entry = { at: NOW - 1_000, who: EVIL, target: EVIL, as: EVIL, why: EVIL } as const;
    const { text } = auditPage([{ ...entry, what: 'hold', contacts: 1_234 }], viewer);
    expect(text).toContain('>1,234<');
    expect(text).toContain('1 s ago');
    expect(text).not.toMatch(/<script>|<img/);
    expect(text.match(/&lt;script&gt;/g)).toHaveLength(4);
  });
});
