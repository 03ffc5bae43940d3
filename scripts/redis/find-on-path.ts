import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';

/**
 * Where a program is on a PATH.
 *
 * @param searchPath the value of PATH; blank finds nothing
 * @returns its absolute path, or undefined where no folder of the PATH holds an executable of it
 */
export function findOnPath(program: string, searchPath: string | undefined): string | undefined {
  return (searchPath ?? '')
    .split(path.delimiter)
    .filter((folder) => path.isAbsolute(folder))
    .map((folder) => path.join(folder, program))
    .find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
