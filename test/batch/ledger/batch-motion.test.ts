import { describe, expect, it } from 'vitest';
import {
  continueImport,
  motionOf,
  STALLED_AFTER_MS,
  type SendingFleet,
} from '../../../src/batch/ledger/batch-motion.ts';
import { batchFrom, type Batch } from '../../../src/batch/ledger/batch-record.ts';
import type { Hold } from '../../../src/contracts/hold.ts';

const NOW = Date.parse('2026-05-01T12:00:00Z');
const LONG_AGO = NOW - STALLED_AFTER_MS;

/** An open batch in which nothing has changed for long enough. */
function still(some: Readonly<Record<string, string | number>> = {}): Batch {
  const fields = { phase: 'sending', pending: 5, total: 10, movedAt: LONG_AGO, ...some };
  const texts = Object.entries(fields).map(([name, value]) => [name, String(value)]);
  const read = batchFrom('b', Object.fromEntries(texts) as Record<string, string>);
  if (read === undefined) throw new Error('no batch');
  return read;
}

const HOLD: Hold = { kind: 'credit', code: 'HTTP_402', since: 0, nextProbeAt: 0, failedProbes: 0 };
const idle: SendingFleet = {
  workers: [{ active: 0 }, { active: 0 }],
  hold: undefined,
  templateHolds: [],
  importing: false,
};
const none: SendingFleet = { ...idle, workers: [] };
const busy: SendingFleet = { ...idle, workers: [{ active: 3 }] };
const RESTARTED = { movedAt: NOW - 10, restartedAt: NOW - 10 };

describe('whether a batch is stalled', () => {
  it.each([
    ['sending, nothing changed for a minute', still(), idle, true],
    ['importing with contacts', still({ phase: 'importing' }), idle, true],
    ['being sent', still({ pending: 2, sending: 3 }), idle, true],
    ['moved less than a minute ago', still({ movedAt: LONG_AGO + 1 }), idle, false],
    ['its rate allows the next chunk later', still({ nextAt: NOW + 5_000 }), idle, false],
    ['its rate allowed it a minute ago', still({ nextAt: LONG_AGO }), idle, true],
    ['waits for its turn behind other batches', still(), busy, false],
    ['its jobs were queued again, and none was taken', still(RESTARTED), idle, true],
    ['its jobs were queued again and taken', still({ ...RESTARTED, movedAt: NOW }), idle, false],
    ['no worker', still(), none, false],
    ['a hold', still(), { ...idle, hold: HOLD }, false],
    ['paused', still({ phase: 'paused' }), idle, false],
    ['cancelled', still({ phase: 'cancelled' }), idle, false],
    ['finished', still({ phase: 'finished', pending: 0 }), idle, false],
    ['nothing pending', still({ pending: 0 }), idle, false],
    ['its import stopped', still({ phase: 'importing', pending: 0 }), idle, false],
  ] as const)('%s', (_, batch, around, stalled) => {
    const motion = motionOf(batch, around, NOW);
    expect(motion.stalled).toBe(stalled);
    const words = stalled ? /^it is stalled: .*"notices doctor"/ : /^(?!.*stalled)/;
    expect(motion.standstill ?? 'it moves').toMatch(words);
  });
});

/** A batch that has just moved. */
const moving = (phase: string, pending: number) => still({ phase, pending, movedAt: NOW });
const fine: SendingFleet = { ...idle, workers: [{ active: 0 }], importing: true };
const closed: SendingFleet = { ...fine, sendWindows: '*=08:00-21:00 Asia/Seoul' };
const held: SendingFleet = { ...fine, hold: HOLD };
const stopped: SendingFleet = { ...fine, importing: false };
const CONTINUE =
  /stopped.*run the same import again: "notices import FILE --template '' --batch b" continues it/;

describe('why nothing of a batch is sent', () => {
  it.each([
    ['finished, whatever is around', moving('finished', 0), { ...none, hold: HOLD }, undefined],
    ['sending', moving('sending', 5), fine, undefined],
    ['importing with contacts', moving('importing', 5), fine, undefined],
    ['sending, no worker', moving('sending', 5), none, /no worker is running.*"notices worker"/],
    ['importing, no worker', moving('importing', 5), none, /no worker is running/],
    ['sending, held', moving('sending', 5), held, /held \(credit\).*run out.*top up/],
    ['no worker before a hold', moving('sending', 5), { ...held, workers: [] }, /no worker/],
    ['paused', moving('paused', 5), { ...held, workers: [] }, /paused; "notices resume b"/],
    ['paused with none pending', moving('paused', 0), fine, /paused/],
    ['nothing stored yet', moving('importing', 0), fine, /^its import has not finished$/],
    ['the import stopped', moving('importing', 0), stopped, CONTINUE],
    ['stopped, contacts are sent', moving('importing', 5), stopped, undefined],
    ['closed hours', moving('sending', 5), closed, /^it is waiting for 08:00 \(Asia\/Seoul\)/],
    ['a hold before closed hours', moving('sending', 5), { ...closed, hold: HOLD }, /held/],
    ['sending with none pending', moving('sending', 0), none, undefined],
    ['cancelled', moving('cancelled', 0), none, undefined],
    ['cancelled, sends under way', moving('cancelled', 5), held, undefined],
    ['cancelled, their worker gone', moving('cancelled', 5), none, /no worker is running/],
  ] as const)('%s', (_, batch, around, expected) => {
    expect(motionOf(batch, around, NOW).standstill ?? 'it moves').toMatch(expected ?? /^it moves$/);
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
