import type { OptionRows } from '../option.ts';

/** Options of every program of this package. */
export const GENERAL_OPTIONS = {
  ACCOUNT: {
    kind: 'text',
    meaning: 'Name of the account: one key pair with its queue, token slot, holds and limits.',
    pattern: /^[a-z0-9-]{1,32}$/,
    expected: '1 to 32 lower-case letters, digits and hyphens',
    default: 'default',
  },
  LOG_LEVEL: {
    kind: 'choice',
    meaning: 'The least important log lines that are still written.',
    choices: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    default: 'info',
    note: 'Above `info`, the one line per attempt is not written.',
  },
} as const satisfies OptionRows;
