import { z } from 'zod';
import { errorCodes } from '../../ops/answers/account-schemas.ts';
import { time } from '../../ops/answers/fields.ts';
import { ROLES } from '../../ops/web/access/identity.ts';
import { ACCOUNT_OUTPUT } from './account-output.ts';
import { BATCH_OUTPUT } from './batch-output.ts';
import { NOTICE_OUTPUT } from './notice-output.ts';

/*
 * What each command writes with `--json`. The commands load none of this: docs/cli.schema.json is made of it, and
 * tests check what the commands write against that document.
 */

/**
 * Schemas by command, subcommands after a hyphen. `NAME-line` is one line where a command writes one value per line:
 * an import, and with `--watch` or `--follow`.
 */
type OutputSchemas = Readonly<Record<string, z.ZodType>>;

const PROCESS_OUTPUT: OutputSchemas = {
  'ops-serve': z.object({
    url: z.string(),
    invitation: z
      .object({ user: z.string(), password: z.string(), linkKey: z.string() })
      .nullable()
      .describe('a first sign-in, where no access is configured'),
  }),
  'ops-hash-password': z.object({ entry: z.string().describe('for OPS_USERS') }),
  'ops-new-key': z.object({ key: z.string(), entry: z.string().describe('for OPS_API_KEYS') }),
  'ops-keys': z.array(
    z.object({
      name: z.string(),
      role: z.enum(ROLES),
      id: z.string().describe('distinguishes keys of the same name'),
      until: time.nullable().describe('when it expires; null for never'),
      expired: z.boolean(),
      lastUsed: time.nullable().describe('to the minute; null for never'),
    }),
  ),
  emulator: z.object({ url: z.string(), control: z.string() }),
};

const DIAGNOSTICS: OutputSchemas = {
  error: z
    .object({
      error: z.object({
        code: z.enum([...errorCodes, 'USAGE', 'DEFECT']),
        message: z.string(),
        issues: z.array(z.object({ field: z.string(), problem: z.string() })).optional(),
      }),
    })
    .describe('one line of standard error, after which the exit code is not 0'),
  warning: z
    .object({ warning: z.object({ message: z.string() }) })
    .describe('one line of standard error'),
};

/** Commands that write no result as JSON, and what they write. */
export const WITHOUT_RESULT: Readonly<Record<string, string>> = {
  worker: 'log lines',
  'alerts-watch': 'log lines',
  completion: 'a script for a shell',
};

/** All schemas of what commands write with `--json`, and of errors and warnings. */
export const CLI_OUTPUT: OutputSchemas = {
  ...NOTICE_OUTPUT,
  ...BATCH_OUTPUT,
  ...ACCOUNT_OUTPUT,
  ...PROCESS_OUTPUT,
  ...DIAGNOSTICS,
};
