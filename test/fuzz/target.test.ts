import * as fc from 'fast-check';
import { expect, it, onTestFinished, vi } from 'vitest';
import { fuzz, target } from './support/target.ts';

it('a broken law is reported with the smallest input and the seed, which is printed and repeats the run', async () => {
  const printed = vi.spyOn(console, 'info').mockReturnValue();
  onTestFinished(() => {
    vi.unstubAllEnvs();
    printed.mockRestore();
  });
  const runs: number[][] = [];
  const failing = () => {
    const tried: number[] = [];
    runs.push(tried);
    const law = (input: number) => {
      tried.push(input);
      if (input >= 1_000) throw new Error('broken');
    };
    const inputs = fc.integer({ min: 0, max: 1_000_000 });
    return fuzz(target({ name: 'numbers', inputs, law }), { runs: 100 });
  };
  await expect(failing()).rejects.toThrow(/^NOTICES_SEED=\d+ fails with \[ 1000 \]$/);
  const [, seed = ''] = /NOTICES_SEED=(\d+)/.exec(printed.mock.calls.join('\n')) ?? [];
  vi.stubEnv('NOTICES_SEED', seed);
  await expect(failing()).rejects.toThrow(`NOTICES_SEED=${seed} fails with [ 1000 ]`);
  expect(runs[1]).toEqual(runs[0]);
});
