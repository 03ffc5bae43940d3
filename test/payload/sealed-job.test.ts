import { describe, expect, it } from 'vitest';
import { sealingOf, type Sealing } from '../../src/payload/seal.ts';
import type { JobData } from '../../src/contracts/job.ts';
import { contactsOfJob, frameOf, openJob, sealJob } from '../../src/payload/sealed-job.ts';

const NUMBER = '01012345678';
const DATA: JobData = {
  v: 1,
  notice: {
    templateCode: 'T',
    scheduleType: 'DIRECTLY',
    contacts: [{ contact: NUMBER, var1: 'x' }],
  },
  expiresAt: 5,
  delivery: 'at-most-once',
};
const sealing: Sealing = {
  account: 'a',
  keys: sealingOf('', { payloadKey: '42'.repeat(32) }).keys,
  acceptsPlain: false,
};
const sealed = sealJob(DATA, 'n-1', sealing);
describe('the data of an encrypted job', () => {
  it('opens to what was sealed', () => {
    expect(openJob(sealed, 'n-1', sealing)).toStrictEqual(DATA);
    expect(sealJob(DATA, 'n-1', { ...sealing, keys: [] })).toBe(DATA);
  });

  it('shows template, times and numbers of contacts, and begins with the version', () => {
    const text = JSON.stringify(sealed);
    expect(text).toMatch(/^{"v":2,"notice":{"templateCode":"T","contacts":1,"sealed":"/);
    expect(text).toContain('"expiresAt":5,"delivery":"at-most-once"');
    for (const hidden of [NUMBER, 'DIRECTLY', 'var1']) {
      expect(text).not.toContain(hidden);
    }
    expect(frameOf(sealed)).toEqual({ template: 'T', contacts: 1 });
    expect(frameOf(DATA)).toEqual({ template: 'T', contacts: 1 });
  });

  it.each([
    ['under the id of another job', () => openJob(sealed, 'n-2', sealing)],
    ['in another account', () => openJob(sealed, 'n-1', { ...sealing, account: 'b' })],
    [
      'with another key',
      () =>
        openJob(sealed, 'n-1', {
          ...sealing,
          keys: sealingOf('', { payloadKey: '43'.repeat(32) }).keys,
        }),
    ],
    ['without a key', () => openJob(sealed, 'n-1')],
    ['where the sealed part is missing', () => openJob({ v: 2, notice: {} }, 'n-1', sealing)],
    ['where there is no notice', () => openJob({ v: 2 }, 'n-1', sealing)],
    ['that is not encrypted', () => openJob(DATA, 'n-1', sealing)],
  ])('does not open %s', (_, open) => {
    expect(open).toThrow(expect.objectContaining({ code: 'PAYLOAD_UNREADABLE' }) as Error);
  });

  it('opens where it need not be encrypted', () => {
    expect(openJob(DATA, 'n-1', { ...sealing, acceptsPlain: true })).toBe(DATA);
    expect(openJob(DATA, 'n-1')).toBe(DATA);
  });

  it('is at-most-once as it was sealed, whatever stands beside it', () => {
    const { delivery: _, ...frame } = sealed;
    expect(openJob(frame, 'n-1', sealing).delivery).toBe('at-most-once');
  });

  it('has its contacts for who has the key, and says so to others', () => {
    const text = JSON.stringify(sealed);
    expect(contactsOfJob(text, 'n-1', sealing)).toEqual(DATA.notice.contacts);
    expect(() => contactsOfJob(text, 'n-1')).toThrow(/key that is not configured/);
    expect(contactsOfJob(JSON.stringify(DATA), 'n-1')).toEqual(DATA.notice.contacts);
    for (const none of [null, undefined, '{', '5', '{"notice":5}']) {
      expect(contactsOfJob(none, 'n-1')).toEqual([]);
    }
  });
});
