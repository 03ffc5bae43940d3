import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Canary } from './forms.ts';
import type { Written } from './search.ts';

const TOKEN = ':_authToken=';

/** What `scripts/compose-smoke.sh` planted. */
export interface Planted {
  readonly canaries: readonly Canary[];
  /** The files in which they lie. */
  readonly files: readonly Written[];
}

/** Reads the secrets, numbers and values of a checkout, where a user has them: each line or file names one. */
export function readPlanted(checkout: string): Planted {
  const secrets = readdirSync(path.join(checkout, 'secrets')).map((name) => `secrets/${name}`);
  const names = ['.env', '.npmrc', 'list.csv', ...secrets];
  const files = names.map((name) => ({
    place: name,
    bytes: readFileSync(path.join(checkout, name)),
  }));
  const canaries = files.flatMap(({ place, bytes }) =>
    bytes
      .toString()
      .split('\n')
      .filter((line) => line !== '')
      .flatMap((line) => canariesIn(place, line)),
  );
  return { canaries: [...new Map(canaries.map((one) => [one.value, one])).values()], files };
}

function canariesIn(file: string, line: string): Canary[] {
  const [before = '', after = ''] = line.split(/=(.*)/s);
  switch (file) {
    case '.env':
      return [{ name: `${before} in .env`, value: after.replaceAll(/^'|'$/g, '') }];
    case '.npmrc':
      return line.includes(TOKEN) ? [{ name: 'token in .npmrc', value: after }] : [];
    case 'list.csv': {
      const [number = '', value = ''] = line.split(',');
      return [
        { name: `number ${number}`, value: number, kind: 'number' },
        { name: 'value in list.csv', value },
      ];
    }
    default:
      return [{ name: file, value: line }];
  }
}
