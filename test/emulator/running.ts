import { onTestFinished } from 'vitest';
import { type Emulator, startEmulator } from '../../src/emulator/emulator.ts';
import type { EmulatorOptions } from '../../src/emulator/options.ts';

/** Starts an emulator that is closed after the test. */
export async function emulatorWith(options: EmulatorOptions = {}): Promise<Emulator> {
  const emulator = await startEmulator(options);
  onTestFinished(() => emulator.close());
  return emulator;
}
