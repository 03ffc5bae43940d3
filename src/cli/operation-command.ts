import { Command, Option } from 'commander';
import { z } from 'zod';
import { InputError, NoticeQueueError } from '../contracts/errors.ts';
import { parseInput } from '../contracts/parse-input.ts';
import { formatCount } from '../format/format.ts';
import { fromTexts, innerField, kindOf, shapeOf } from '../ops/operations/from-text.ts';
import {
  isChange,
  paramsOf,
  runParsed,
  type Operation,
  type OperationCall,
  type OperationContext,
  type OperationPreview,
} from '../ops/operations/operation.ts';
import { MAX_WHY_LENGTH, whyOption } from './arguments.ts';
import { currentUser, untilStopped, type CommandContext } from './command-context.ts';
import { agreed } from './confirm.ts';
import { withLedger, type OpenLedger } from './open-queue.ts';
import { print, wantsJson, writeLines } from './output.ts';
import { ProgressLines } from './progress.ts';
import { UsageError } from './usage-error.ts';

/** The values of the flags and arguments of a command, as they were typed. */
type Typed = Readonly<Record<string, unknown>>;

/** The command of an operation: its flags and arguments are the fields of the input. */
export function operationCommand(
  context: CommandContext,
  row: Operation,
  name = row.name.split(' ').at(-1) ?? '',
): Command {
  const command = new Command(name).description(
    row.summary.replace(/^\w/, (letter) => letter.toLowerCase()).replace(/\.$/, ''),
  );
  const args = argumentsOf(row);
  const shape = shapeOf(row.input);
  for (const arg of args) {
    const { field, description, isRequired } = about(shape[arg]);
    const rest = kindOf(field) === 'array' ? '...' : '';
    const words = `${kebab(arg)}${rest}`;
    command.argument(isRequired ? `<${words}>` : `[${words}]`, description);
  }
  addFlags(command, row);
  return command.action((...given: unknown[]) => {
    const values = Object.fromEntries(args.map((arg, index) => [arg, given[index]]));
    const { why, yes, ...flags } = command.opts<{ why?: string; yes?: boolean }>();
    return runOperation(context, command, row, { ...values, ...typedOf(row, flags) }, why, yes);
  });
}

/** A command that shows what the first operation answers, or with its argument does the second. */
export function showOrSet(context: CommandContext, show: Operation, set: Operation): Command {
  const [name = ''] = show.name.split(' ');
  const [arg = ''] = argumentsOf(set);
  const command = new Command(name).argument(
    `[${kebab(arg)}]`,
    about(shapeOf(set.input)[arg]).description,
  );
  addFlags(command, set);
  return command.action((given: string | undefined) => {
    const { why, yes } = command.opts<{ why?: string; yes?: boolean }>();
    if (given !== undefined) {
      return runOperation(context, command, set, { [arg]: given }, why, yes);
    }
    if (why !== undefined) throw new UsageError(`--why requires a ${kebab(arg)}`);
    return runOperation(context, command, show, {});
  });
}

/** The fields of the input that are arguments, not flags. */
function argumentsOf(row: Operation): string[] {
  return [...paramsOf(row), ...(row.args ?? [])];
}

/** Adds a flag for each field of the input that is no argument, and those that every change has. */
export function addFlags(command: Command, row: Operation): void {
  const args = new Set(argumentsOf(row));
  for (const [name, schema] of Object.entries(shapeOf(row.input))) {
    if (!args.has(name)) command.addOption(flagOf(name, schema));
  }
  if (isChange(row)) {
    const option = whyOption(row.maxWhy ?? MAX_WHY_LENGTH);
    command.addOption(row.why === 'always' ? option.makeOptionMandatory() : option);
  }
  if (row.preview !== undefined) command.option('--yes', 'do not ask for confirmation');
}

/** The values of the flags of an operation, by the names of its fields. */
export function typedOf(row: Operation, flags: Typed): Typed {
  const fields = Object.keys(shapeOf(row.input)).map((name) => [name, flags[flagName(name)]]);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as Typed;
}

/** What commander calls the flag of a field. */
const flagName = (field: string): string => field.replace(/Ms$/, '');

const kebab = (field: string): string =>
  flagName(field).replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** What is known of a field: its schema, its description, and whether it has to be given. */
function about(schema: z.ZodType | undefined) {
  const isRequired = schema?.safeParse(undefined).success === false;
  let description = schema?.description;
  for (let inner = schema; description === undefined;) {
    if (!(inner instanceof z.ZodOptional || inner instanceof z.ZodDefault)) break;
    inner = inner.unwrap() as z.ZodType;
    ({ description } = inner);
  }
  return { field: schema, description: description ?? '', isRequired };
}

function flagOf(name: string, schema: z.ZodType): Option {
  const { description, isRequired } = about(schema);
  const inner = innerField(schema);
  const kind = kindOf(schema);
  const flag = `--${kebab(name)}`;
  if (kind === 'boolean') return new Option(flag, description);
  const option = new Option(`${flag} <${placeholderOf(schema, kebab(name))}>`, description);
  if (inner instanceof z.ZodEnum) option.choices(inner.options.map(String));
  const { data } = schema.safeParse(undefined);
  if (data !== undefined) option.default(undefined, JSON.stringify(data));
  return isRequired ? option.makeOptionMandatory() : option;
}

function placeholderOf(schema: z.ZodType, name: string): string {
  return takenBy(schema) ?? (kindOf(schema) === 'number' ? 'n' : name);
}

/** Whether a field takes a time or a duration, which a command line has as text. */
function takenBy(schema: z.ZodType | undefined): string | undefined {
  const takes = schema?.meta()?.['takes'];
  if (typeof takes === 'string') return takes;
  return schema instanceof z.ZodOptional ? takenBy(schema.unwrap() as z.ZodType) : undefined;
}

/** Runs an operation with what was typed, after its preview, and prints its answer. */
export async function runOperation(
  context: CommandContext,
  command: Command,
  row: Operation,
  typed: Typed,
  why = '',
  yes?: boolean,
): Promise<void> {
  const input = parsed(row, typed);
  await asUsage(row, () =>
    withLedger(context, async (open) => {
      const target = contextOf(open);
      const lines = new ProgressLines(row.name, context.stderr);
      const json = wantsJson(command);
      const who = { who: currentUser(), why };
      const checked = await untilStopped(context, (signal) =>
        agreedOn(context, row, target, input, { ...who, signal }, json, yes),
      );
      if (checked === undefined) return;
      const answer = await untilStopped(context, (signal) =>
        runParsed(row, target, checked.input, {
          ...who,
          signal,
          onProgress: (done) => {
            if (!json) lines.show(undefined, formatCount(done));
          },
        }),
      );
      print(context, command, answer, () => row.text(answer as never, Date.now()));
      if (row.isDone?.(answer as never) === false) context.end(1);
    }),
  );
}

/** What the operation works with. */
function contextOf({ config, ...open }: OpenLedger): OperationContext {
  return { ...open, configuredRateLimit: config.worker.rateLimit.limit };
}

/** Shows what would be done and asks. @returns the input to go on with; undefined where the user declines */
async function agreedOn(
  context: CommandContext,
  row: Operation,
  target: OperationContext,
  input: unknown,
  call: OperationCall,
  json: boolean,
  yes: boolean | undefined,
): Promise<{ readonly input: unknown } | undefined> {
  const preview = row.preview as
    ((...args: readonly unknown[]) => Promise<OperationPreview<unknown>>) | undefined;
  const shown = await preview?.(target, input, call);
  if (shown?.question === undefined) return { input };
  if (!json) writeLines(context.stderr, shown.lines);
  return (await agreed(context, shown.question, yes)) ? { input: shown.input } : undefined;
}

/** @throws UsageError that names every invalid flag and argument */
function parsed(row: Operation, typed: Typed): unknown {
  const shape = shapeOf(row.input);
  const values = Object.entries(typed).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const isText = typeof value !== 'string' || takenBy(shape[name]) !== undefined;
    return [[name, isText ? value : fromTexts([value], kindOf(shape[name]))]];
  });
  try {
    return parseInput(row.input, Object.fromEntries(values), 'REQUEST_INVALID', '', 'input');
  } catch (error) {
    throw usageOf(row, error);
  }
}

/** Errors about the input name flags, not fields; what does not exist is a wrong use, too. */
async function asUsage(row: Operation, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    throw usageOf(row, error);
  }
}

function usageOf(row: Operation, error: unknown): unknown {
  if (error instanceof NoticeQueueError && error.code === 'NOT_FOUND') {
    return new UsageError(error.message);
  }
  if (!(error instanceof InputError) || error.code !== 'REQUEST_INVALID') return error;
  const args = new Set(argumentsOf(row));
  const flagged = (text: string) =>
    text.replaceAll(/\b[a-z]+[A-Z]\w*/g, (name) =>
      name in shapeOf(row.input) ? `--${kebab(name)}` : name,
    );
  const problems = error.issues.map(({ field, problem }) =>
    args.has(field) ? `<${kebab(field)}>: ${problem}` : `--${kebab(field)}: ${flagged(problem)}`,
  );
  return new UsageError(problems.join('; '));
}
