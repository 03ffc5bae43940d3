import { InvalidArgumentError } from 'commander';

/** Reads a whole number within bounds, for a command line option. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^[0-9]+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}

/** Gathers the values of an option that may be given several times. */
export function gather(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}
