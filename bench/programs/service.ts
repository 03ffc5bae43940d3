/**
 * The emulator in a process of its own, told by its parent: waits for totals, hands out the record,
 * and notes when requests arrive.
 */
import { subscribe } from 'node:diagnostics_channel';
import { startEmulator } from '../../src/emulator/emulator.ts';
import { nowMs } from '../harness/clock.ts';

/** What the parent may say. */
export interface ServiceOrder {
  /** Say `reached` once so many contacts were accepted since the last `clear`. */
  readonly reach?: number;
  readonly clear?: true;
  readonly record?: true;
  /** Say when each request arrived since the last time this was asked. */
  readonly arrivals?: true;
}

/** Often enough for the time of a total to be exact to a thousandth of a leg. */
const LOOK_EVERY_MS = 1;

const [latencyMs = '0', keepNumbers = 'true'] = process.argv.slice(2);
const emulator = await startEmulator({
  latencyMs: Number(latencyMs),
  record: keepNumbers === 'true',
  keepDetails: 0,
});
let arrivals: number[] = [];
subscribe('http.server.request.start', () => arrivals.push(nowMs()));

process.on('message', (message) => {
  const { reach, clear, record, arrivals: wanted } = message as ServiceOrder;
  if (clear === true) {
    emulator.reset();
    arrivals = [];
  }
  if (record === true) process.send?.({ record: emulator.record() });
  if (wanted === true) {
    process.send?.({ arrivals });
    arrivals = [];
  }
  if (reach !== undefined) {
    const timer = setInterval(() => {
      if (emulator.record().contacts < reach) return;
      clearInterval(timer);
      process.send?.({ reached: reach, atMs: nowMs() });
    }, LOOK_EVERY_MS);
  }
});
process.send?.({ url: emulator.url });
