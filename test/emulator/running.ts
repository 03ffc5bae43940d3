import { onTestFinished } from 'vitest';
import { type Emulator, startEmulator } from '../../src/emulator/emulator.ts';
import { EMULATOR_DEFAULTS, type EmulatorOptions } from '../../src/emulator/options.ts';
import type { AtEnd } from '../support/temporary.ts';

/** What leads a program to the emulator at this address. */
export const serviceEnv = (url: string) => ({
  BASE_URL: url,
  ACCESS_KEY: EMULATOR_DEFAULTS.accessKey,
  SECRET_KEY: EMULATOR_DEFAULTS.secretKey,
});

/** Starts an emulator that is closed after the test. */
export async function emulatorWith(
  options: EmulatorOptions = {},
  atEnd: AtEnd = onTestFinished,
): Promise<Emulator> {
  const emulator = await startEmulator(options);
  atEnd(() => emulator.close());
  return emulator;
}
