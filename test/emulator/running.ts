import { afterEach } from 'vitest';
import { type Emulator, startEmulator } from '../../src/emulator/emulator.ts';
import type { EmulatorOptions } from '../../src/emulator/options.ts';

const running: Emulator[] = [];

/** Starts an emulator that is closed after the test. */
export async function emulatorWith(options: EmulatorOptions = {}): Promise<Emulator> {
  const emulator = await startEmulator(options);
  running.push(emulator);
  return emulator;
}

afterEach(async () => {
  await Promise.all(running.splice(0).map((emulator) => emulator.close()));
});
