import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { WITHOUT_RESULT } from '../../../src/cli/json/output-schema.ts';

type JsonSchema = Record<string, unknown>;

interface PublishedDocument {
  readonly $defs: Readonly<Record<string, JsonSchema>>;
}

/** The document as it is published. */
const published = JSON.parse(
  readFileSync(new URL('../../../docs/cli.schema.json', import.meta.url), 'utf8'),
) as PublishedDocument;

const schemas = new Map<string, z.ZodType>();

/** Former names of commands, as the command line still takes them. */
const FORMER: Readonly<Record<string, string>> = { pace: 'rate-limit' };

/** What is wrong with what a command wrote with `--json`; a property that the document does not name is wrong. */
export function problemsOfOutput(
  args: readonly string[],
  { stdout, stderr }: { readonly stdout: string; readonly stderr: string },
): string[] {
  const name = definitionOf(args);
  const hasResult = stdout !== '' && !(name in WITHOUT_RESULT) && !args.includes('--help');
  const values = hasResult ? valuesOf(args, name, stdout) : [];
  const lines = stderr.split('\n').filter((line) => line.startsWith('{"'));
  return [
    ...values.flatMap(([definition, text]) => problemsOf(definition, text)),
    ...lines.flatMap((line) => {
      const kind = /^\{"(error|warning)"/.exec(line)?.[1];
      return kind === undefined ? [] : problemsOf(kind, line);
    }),
  ];
}

/** The definition for a command line: its command, with its subcommand where it has some. */
function definitionOf(args: readonly string[]): string {
  const [given = '', below = ''] = args.filter((arg) => !arg.startsWith('-'));
  const command = FORMER[given] ?? given;
  const names = [`${command}-${below}`, command, `${command}-show`, `${command}-serve`];
  const known = new Set([...Object.keys(published.$defs), ...Object.keys(WITHOUT_RESULT)]);
  const found = names.find((name) => known.has(name) && !name.endsWith('-line'));
  return found ?? command;
}

function valuesOf(
  args: readonly string[],
  name: string,
  stdout: string,
): (readonly [string, string])[] {
  const perLine = `${name}-line`;
  const isLines =
    published.$defs[name] === undefined ||
    args.some((arg) => /^--(?:watch|follow)(?:=|$)/.test(arg));
  if (!isLines || published.$defs[perLine] === undefined) return [[name, stdout]];
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => [perLine, line] as const);
}

function problemsOf(name: string, text: string): string[] {
  const result = schemaOf(name).safeParse(JSON.parse(text));
  return result.success ? [] : [`${name}: ${z.prettifyError(result.error)} in ${text}`];
}

function schemaOf(name: string): z.ZodType {
  const kept = schemas.get(name);
  if (kept !== undefined) return kept;
  if (published.$defs[name] === undefined) throw new Error(`docs/cli.schema.json has no ${name}`);
  const schema = z.fromJSONSchema({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $ref: `#/$defs/${name}`,
    $defs: closed(published.$defs) as JsonSchema,
  } as Parameters<typeof z.fromJSONSchema>[0]);
  schemas.set(name, schema);
  return schema;
}

/** The same, where every object takes only the properties that it names. */
function closed(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closed);
  if (typeof part !== 'object' || part === null) return part;
  const inner = Object.fromEntries(Object.entries(part).map(([key, one]) => [key, closed(one)]));
  const isObject = inner['type'] === 'object' && inner['additionalProperties'] === undefined;
  return isObject ? { ...inner, additionalProperties: false } : inner;
}

/** Names of the definitions of results: not of errors, and not what they share. */
export function publishedResults(): string[] {
  const names = Object.keys(published.$defs).filter((name) => /^[a-z]/.test(name));
  return names.filter((name) => name !== 'error' && name !== 'warning');
}
