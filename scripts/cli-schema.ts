import { z } from 'zod';
import { CLI_OUTPUT } from '../src/cli/json/output-schema.ts';
import { simplifySchema } from '../src/ops/web/openapi.ts';

/** The JSON Schema of what each command writes with `--json`: one definition for each, and those that they share. */
export function cliJsonSchema(comment: string): string {
  const {
    $schema,
    $defs: shared = {},
    properties: outputs = {},
  } = z.toJSONSchema(z.object(CLI_OUTPUT), {
    io: 'output',
    override: ({ jsonSchema }) => simplifySchema(jsonSchema, 'output'),
  });
  const document = {
    $schema,
    $comment: comment,
    title: 'JSON output of notices',
    description:
      'What each command writes to standard output with --json, by its name; subcommands after a hyphen. NAME-line is one line where a command writes one value per line: import, and with --watch or --follow. error and warning are lines of standard error. Ignore unknown fields.',
    $defs: { ...outputs, ...shared },
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}
