import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { differingSettings } from '../../src/fleet/heartbeat.ts';
import { explainHold } from '../../src/ops/answers/account-schemas.ts';
import { headlineOf } from '../../src/ops/answers/headline.ts';
import type { Status } from '../../src/ops/status.ts';
import { NOW, someBatches, someStatus, someWorker, unsuitable } from './web/pages/snapshots.ts';

const hold = (kind: 'credentials' | 'throttled' | 'failing', code: string, inMs = 60_000) =>
  explainHold({ kind, code, since: NOW - 5_000, nextProbeAt: NOW + inMs, failedProbes: 0 });
const of = (some: Partial<Status>) => headlineOf({ ...someStatus(), ...some });
const refused = {
  id: 'wrongtpl',
  total: 4_627,
  rejected: 4_627,
  code: 'TEMPLATE_NOT_APPROVED',
  movedAt: NOW - 60_000,
};
const open = {
  id: 'may',
  phase: 'sending',
  total: 500,
  pending: 400,
  stalled: false,
} as const;

describe('the headline is the worst thing that is true', () => {
  it('a list that was rejected throughout, with its code, its link and a command', () => {
    expect(of({ batches: someBatches({ rejected: 4_777, refused: [refused] }) })).toMatchObject({
      tone: 'bad',
      title: 'List wrongtpl: all 4,627 rejected, TEMPLATE_NOT_APPROVED',
      text: expect.stringContaining('The template or its sender keys, not the service') as string,
      fault: 'the template',
      command: 'notices failures wrongtpl',
      batch: 'wrongtpl',
    });
    const part = { ...refused, rejected: 4_000 };
    expect(of({ batches: someBatches({ refused: [part] }) }).title).toBe('Idle');
    const old = { ...refused, movedAt: NOW - 25 * 3_600_000 };
    expect(of({ batches: someBatches({ refused: [old] }) }).title).toBe('Idle');
  });

  it('a trouble of one or two notices, which is too little for a hold, while nothing is accepted', () => {
    const retrying = { notices: 2, chunks: 0, code: 'SERVICE_UNREACHABLE' };
    expect(of({ retrying })).toMatchObject({
      tone: 'warn',
      title: '2 notices wait for their next attempt: SERVICE_UNREACHABLE',
      text: expect.stringContaining('BASE_URL') as string,
      fault: 'the network',
      command: 'notices doctor',
      section: 'service_unreachable',
    });
    expect(of({ retrying: { notices: 0, chunks: 1, code: 'HTTP_503' } })).toMatchObject({
      title: '1 part of a list waits for its next attempt: HTTP_503',
      text: expect.not.stringContaining('probe') as string,
      fault: 'the service',
      section: 'failing',
    });
    const sent = { requests: 9, contacts: 9, forMs: 1_000 };
    expect(of({ retrying, workers: [someWorker({ sent })] }).title).toBe('Sending');
  });

  it('closed sending hours, where nothing else is to be said', () => {
    const sendWindows = '*=00:00-00:01 UTC';
    const jobs = { ...someStatus().jobs, delayed: 3 };
    expect(of({ sendWindows }).title).toBe('Idle');
    const waiting = { tone: 'good', title: 'Waiting for 00:00 (UTC)' };
    expect(of({ sendWindows, jobs })).toMatchObject(waiting);
    expect(of({ sendWindows, batches: someBatches({ pending: 5 }) })).toMatchObject(waiting);
  });

  it.each([
    ['INVALID_ACCESS_KEY', 'our configuration', 'compare ACCESS_KEY, SECRET_KEY and API_VERSION'],
    ['ACCESS_KEY_NOT_APPROVED', 'the service', 'have the app approved'],
    ['IP_NOT_ALLOWED', 'our configuration', 'add the outbound address'],
    ['SERVICE_REFUSED', 'the service', 'correct what the code'],
    ['TEMPLATE_NOT_APPROVED', 'the template', 'check the template'],
  ])('credentials, %s: the fault of %s', (code, fault, words) => {
    const found = of({ hold: hold('credentials', code) });
    expect(found).toMatchObject({ tone: 'bad', title: 'Held: credentials', fault });
    expect(found.text).toContain(words);
    expect(found.text).toContain('what waits keeps its attempts');
  });

  it('workers that differ: the variable, and the hosts of the fewer', () => {
    const [a, b, c] = ['a1', 'a1', 'b2'].map((ATTEMPTS, pid) =>
      someWorker({ pid, settings: { ATTEMPTS, DELIVERY: 'd' } }),
    );
    const workers = [a, b, c].filter((one) => one !== undefined);
    const differing = differingSettings(workers);
    expect(differing).toEqual([
      { variable: 'ATTEMPTS', groups: [['host-1 (0)', 'host-1 (1)'], ['host-1 (2)']] },
    ]);
    const found = of({ workers, differing });
    expect(found.title).toBe('Workers differ in ATTEMPTS');
    expect(found.text).toMatch(/^ATTEMPTS of host-1 \(2\) is not that of the others/);
    // One of an older version reports none.
    expect(differingSettings([someWorker(), ...workers.slice(0, 2)])).toEqual([]);
  });

  it('what a person has to decide, a stopped import, and a paused list', () => {
    expect(of({ unknown: { notices: 2, contacts: 3 } })).toMatchObject({
      tone: 'warn',
      title: '5 unknown outcomes to decide',
      command: 'notices failures --state unknown',
    });
    const stopped = { ...open, continueImport: 'notices import FILE' };
    const batches = someBatches({ pending: 400, openBatches: [stopped] });
    expect(of({ batches })).toMatchObject({
      title: 'The import of may stopped',
      command: 'notices import FILE',
    });
    const paused = { ...open, phase: 'paused' } as const;
    expect(of({ batches: someBatches({ pending: 400, openBatches: [paused] }) })).toMatchObject({
      title: 'List may is paused',
      text: '400 of 500 contacts wait until a person resumes it.',
      command: 'notices resume may',
    });
  });

  it('a list that starts by itself is no fault, and no person has to resume it', () => {
    const later = { ...open, phase: 'paused', startAt: NOW + 60_000 } as const;
    const batches = someBatches({ pending: 400, openBatches: [later] });
    expect(of({ batches })).toEqual({
      tone: 'good',
      title: 'List may waits for its start',
      text: '400 of 500 contacts are sent from then on.',
      until: NOW + 60_000,
      batch: 'may',
    });
    const paused = { ...open, id: 'june', phase: 'paused' } as const;
    const both = someBatches({ pending: 800, openBatches: [later, paused] });
    expect(of({ batches: both }).title).toBe('List june is paused');
    const moving = someBatches({ pending: 800, openBatches: [later, open] });
    expect(of({ batches: moving }).title).toBe('Waiting');
    // Only ten are listed: the eleventh is not known to wait for its start.
    const more = someBatches({ pending: 890, openBatches: [later], open: 2 });
    expect(of({ batches: more })).toMatchObject({ tone: 'warn', title: 'Waiting' });
  });

  const unready = (reason: string) => ({
    workers: [someWorker({ unready: [{ reason, since: NOW }] })],
  });

  it.each<[string, string | undefined, string | undefined, Partial<Status>]>([
    ['No worker is ready', undefined, undefined, unready('stopping')],
    ['No worker is ready', 'the network', 'queue_unavailable', unready('redis-away')],
    ['No worker is ready', 'our configuration', 'payload_unreadable', unready('payload-key')],
    [
      'List may is stalled',
      'our configuration',
      'batchstalled',
      { batches: someBatches({ pending: 400, openBatches: [{ ...open, stalled: true }] }) },
    ],
    [
      'List may is paused',
      'a person',
      'manual',
      { batches: someBatches({ pending: 400, openBatches: [{ ...open, phase: 'paused' }] }) },
    ],
    ['Waiting', undefined, undefined, { batches: someBatches({ pending: 10 }) }],
  ])('%s: the fault of %s, section %s, and one command', (title, fault, section, some) => {
    const found = of(some);
    expect([found.title, found.fault, found.section]).toEqual([title, fault, section]);
    expect(found.command).toMatch(/^notices /);
    const runbook = readFileSync('docs/operating.md', 'utf8').replaceAll('.', '').toLowerCase();
    expect(runbook).toContain(section === undefined ? '' : `### \`${section}\``);
  });

  it('a list that waits for a known reason says it', () => {
    const waits = 'it is waiting for 09:00 (KST), its sending hours (SEND_WINDOWS)';
    const batches = someBatches({ pending: 400, openBatches: [{ ...open, waits }] });
    expect(of({ batches })).toMatchObject({ title: 'Waiting', text: `List may: ${waits}.` });
  });

  it.each<[string, string, Partial<Status>]>([
    ['Waiting', 'warn', { batches: someBatches({ pending: 10 }) }],
    ['Redis is unsuitable', 'bad', { redis: unsuitable('refuse') }],
    [
      'No worker is ready',
      'bad',
      { workers: [someWorker({ unready: [{ reason: 'x', since: NOW }] })] },
    ],
    ['No worker', 'bad', { workers: [], jobs: { ...someStatus().jobs, waiting: 1 } }],
    // It is worse than a pause that the service asked for.
    ['No worker', 'warn', { workers: [], hold: hold('throttled', 'HTTP_429') }],
    ['Held: failing', 'bad', { workers: [], hold: hold('failing', '') }],
  ])('%s (%s)', (title, tone, some) => {
    expect(of(some)).toMatchObject({ title, tone });
  });
});
