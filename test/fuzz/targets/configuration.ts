import * as fc from 'fast-check';
import { expect } from 'vitest';
import { loadConfig, describeConfig } from '../../../src/config/config.ts';
import { metadataOf } from '../../../src/config/variable.ts';
import { ROWS } from '../../../src/config/variables.ts';
import { InputError } from '../../../src/contracts/errors.ts';
import { readApiKeys, readUsers } from '../../../src/ops/web/access/accounts.ts';
import { hostileText } from '../support/hostile.ts';
import { target } from '../support/target.ts';

/** Values that are good for one variable or another. */
const plausible = fc.constantFrom(
  '1000',
  'true',
  'v2',
  'https://service.example.test',
  'http://10.0.0.1:80/a?b=c',
  'redis://:password@127.0.0.1:6379/0',
  'rediss://a:1,b:2',
  'a:viewer:scrypt.14.8.1.AAAA.AAAA',
  'name:sender:sha256.AAAA',
  '10.0.0.0/8, ::1',
  'key-of-32-characters-aaaaaaaaaaaa',
);

/** A part that only a secret contains, to look for it in everything that is written. */
const MARK = 'q7Zx';

const environments = fc.dictionary(
  fc.constantFrom(...ROWS.map(({ variable }) => variable)),
  fc.oneof(hostileText, plausible),
  { maxKeys: 12 },
);

const secrets = new Set(
  ROWS.filter((row) => metadataOf(row).secret === 'value').map(
    ({ variable }) => variable as string,
  ),
);

function readConfiguration(given: Readonly<Record<string, string>>): void {
  const environment = Object.fromEntries(
    Object.entries(given).map(([name, text]) => [name, secrets.has(name) ? MARK + text : text]),
  );
  const report = describeConfig(environment, { service: false });
  expect(JSON.stringify(report)).not.toContain(MARK);
  try {
    loadConfig(environment, { service: false });
    expect(report.issues).toEqual([]);
  } catch (error) {
    if (!(error instanceof InputError && error.code === 'CONFIG_INVALID')) throw error;
    expect(error.message).not.toContain(MARK);
  }
}

export const CONFIGURATION_TARGETS = [
  target({
    name: 'configuration',
    inputs: environments,
    law: readConfiguration,
  }),
  target({
    name: 'users and API keys of the configuration',
    inputs: fc.oneof(
      hostileText,
      fc
        .array(fc.oneof(hostileText, plausible, fc.constantFrom('viewer', 'operator')), {
          maxLength: 5,
        })
        .map((parts) => parts.join(':')),
    ),
    law: (text) => {
      for (const read of [readUsers, readApiKeys]) {
        try {
          read(text);
        } catch (error) {
          if (!(error instanceof InputError)) throw error;
        }
      }
    },
  }),
];
