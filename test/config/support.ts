import { InputError, type InputIssue } from '../../src/contracts/errors.ts';
import { loadConfig } from '../../src/config/config.ts';
import type { Environment } from '../../src/config/environment.ts';

/** What a worker cannot go without; everything else has a default. */
export const REQUIRED = {
  BASE_URL: 'https://api.example.test',
  ACCESS_KEY: 'access-key',
  SECRET_KEY: 'secret-key',
} as const;

/** What is wrong with a worker's environment; nothing when it loads. */
export function issuesOf(environment: Environment): readonly InputIssue[] {
  try {
    loadConfig({ ...REQUIRED, ...environment });
    return [];
  } catch (error) {
    if (error instanceof InputError && error.code === 'CONFIG_INVALID') return error.issues;
    throw error;
  }
}

/** As much of a certificate as the configuration looks at; the TLS stack judges the rest. */
export const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
