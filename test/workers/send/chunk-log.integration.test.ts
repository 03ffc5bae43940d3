import { afterEach, expect, it } from 'vitest';
import { startEmulator, type Emulator } from '../../../src/emulator/emulator.ts';
import { room } from '../../service-coverage/support/line.ts';
import { until } from '../../support/wait.ts';

const lines = room();
let emulator: Emulator | undefined;

afterEach(async () => {
  await emulator?.close();
});

it('the log line of a chunk names the probe of a hold', async () => {
  emulator = await startEmulator();
  emulator.addFault({ on: 'send', status: 402, times: 1 });
  const line = await lines.line(emulator.url);
  await line.queue.import([{ contact: '01000000001' }], { templateCode: 'T', chunkSize: 1 });
  await until(() => line.attempts().length >= 2, { what: 'two attempts' });
  const shown = line.attempts().map(({ outcome, probe }) => [outcome, probe === true]);
  expect(shown).toEqual([
    ['hold', false],
    ['accepted', true],
  ]);
});
