import { describe, expect, it } from 'vitest';
import { batchFrom, type Batch } from '../../../src/batch/ledger/batch-record.ts';
import {
  blockedReason,
  continueImport,
  type SendingFleet,
} from '../../../src/batch/ledger/blocked-reason.ts';
import type { Hold } from '../../../src/contracts/hold.ts';

function batch(phase: string, pending: number): Batch {
  const fields = { phase, pending: String(pending), total: '10' };
  const read = batchFrom('b', fields);
  if (read === undefined) throw new Error(`phase ${phase} is not known`);
  return read;
}

const NOW = Date.parse('2026-05-01T12:00:00Z');
const HOLD: Hold = { kind: 'credit', code: 'HTTP_402', since: 0, nextProbeAt: 0, failedProbes: 0 };
const fine: SendingFleet = {
  workers: [{ active: 0 }],
  hold: undefined,
  templateHolds: [],
  importing: true,
};
const none: SendingFleet = { ...fine, workers: [] };
const closed: SendingFleet = { ...fine, sendWindows: '*=08:00-21:00 Asia/Seoul' };
const held: SendingFleet = { ...fine, hold: HOLD };

describe('blockedReason', () => {
  it.each([
    ['finished, whatever is around', batch('finished', 0), { ...none, hold: HOLD }, undefined],
    ['sending', batch('sending', 5), fine, undefined],
    ['importing with contacts', batch('importing', 5), fine, undefined],
    ['sending, no worker', batch('sending', 5), none, /no worker is running.*"notices worker"/],
    ['importing, no worker', batch('importing', 5), none, /no worker is running/],
    ['sending, held', batch('sending', 5), held, /held \(credit\).*run out.*top up/],
    ['no worker before a hold', batch('sending', 5), { ...held, workers: [] }, /no worker/],
    ['paused', batch('paused', 5), { ...held, workers: [] }, /paused; "notices resume b"/],
    ['paused with none pending', batch('paused', 0), fine, /paused/],
    ['nothing stored yet', batch('importing', 0), none, /^its import has not finished$/],
    [
      'the import stopped',
      batch('importing', 0),
      { ...fine, importing: false },
      /stopped.*run the same import again: "notices import FILE --template '' --batch b" continues it/,
    ],
    ['stopped, contacts are sent', batch('importing', 5), { ...fine, importing: false }, undefined],
    ['closed hours', batch('sending', 5), closed, /^it is waiting for 08:00 \(Asia\/Seoul\)/],
    ['a hold before closed hours', batch('sending', 5), { ...closed, hold: HOLD }, /held/],
    ['sending with none pending', batch('sending', 0), none, undefined],
    ['cancelled', batch('cancelled', 0), none, undefined],
    ['cancelled, sends under way', batch('cancelled', 5), held, undefined],
    ['cancelled, their worker gone', batch('cancelled', 5), none, /no worker is running/],
  ] as const)('%s', (_, batch, around, expected) => {
    const reason = blockedReason(batch, around, NOW);
    expect(reason ?? 'it moves').toMatch(expected ?? /^it moves$/);
  });
});

describe('continueImport', () => {
  it.each([
    ['ORDER_READY', 'notices import FILE --template ORDER_READY --batch b'],
    ['two words', "notices import FILE --template 'two words' --batch b"],
    ["it's $HOME", "notices import FILE --template 'it'\\''s $HOME' --batch b"],
  ])('of template %s', (templateCode, command) => {
    expect(continueImport({ id: 'b', templateCode })).toBe(command);
  });

  it('of a file has its path and flags', () => {
    const flags = { map: 'contact=Phone no', 'no-bisect': '', chunk: '7' };
    const reading = { file: '/tmp/a list.csv', bytes: 1, flags };
    expect(continueImport({ id: 'b', templateCode: 'T', reading })).toBe(
      "notices import '/tmp/a list.csv' --template T --batch b --map 'contact=Phone no' --no-bisect --chunk 7",
    );
  });
});
