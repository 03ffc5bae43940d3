import { Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { inSystemWords } from '../format/time.ts';
import { innerField, kindOf, metaOf, shapeOf } from '../ops/operations/fields.ts';
import { isChange, type Operation } from '../ops/operations/operation.ts';
import { optionFor, whyOption } from './arguments.ts';
import { UsageError, type CommandContext } from './command-context.ts';
import {
  argumentsOf,
  flagOf,
  fromTyped,
  runOperation,
  type CommonFlags,
  type Typed,
} from './run-operation.ts';

/** The operations of a command, for its documentation. */
export const OPERATIONS_OF = new WeakMap<Command, readonly Operation[]>();

/** The command of an operation: its flags and arguments are the fields of the input. */
export function operationCommand(
  context: CommandContext,
  row: Operation,
  name = row.name.split(' ').at(-1) ?? '',
): Command {
  const command = new Command(name).description(row.summary);
  OPERATIONS_OF.set(command, [row]);
  const args = argumentsOf(row);
  for (const arg of args) {
    const schema = shapeOf(row.input)[arg];
    const { description, isRequired } = about(schema);
    const words = `${flagOf(arg, schema)}${kindOf(schema) === 'array' ? '...' : ''}`;
    command.argument(isRequired ? `<${words}>` : `[${words}]`, description);
  }
  addFlags(command, row);
  return command.action(async (...given: unknown[]) => {
    const isGiven = (value: unknown) => !Array.isArray(value) || value.length > 0;
    const values = Object.fromEntries(
      args.flatMap((arg, index) => (isGiven(given[index]) ? [[arg, given[index]]] : [])),
    );
    await runOperation(context, command, row, { ...values, ...typedOf(row, command.opts()) });
  });
}

/** What is run: an operation, with what names its object. */
interface ChosenRow {
  readonly row: Operation;
  readonly typed?: Typed;
}

/** Makes a command one of several operations, depending on its arguments and flags. */
export function chosenCommand(
  context: CommandContext,
  command: Command,
  [argument, about]: readonly [string, string],
  rows: readonly Operation[],
  choose: (given: readonly string[], flags: CommonFlags) => ChosenRow | Promise<ChosenRow>,
): Command {
  command.argument(argument, about);
  OPERATIONS_OF.set(command, rows);
  for (const row of rows) addFlags(command, row, rows.length > 1);
  return command.action(async (given: string | string[] | undefined) => {
    const flags = command.opts<CommonFlags>();
    const { row, typed } = await choose([given ?? []].flat(), flags);
    const shape = shapeOf(row.input);
    const isOther = (field: string) =>
      flags[field] !== undefined && !COMMON.has(field) && !(field in shape);
    const other = command.options.find((option) => isOther(option.attributeName()));
    if (other !== undefined) throw new UsageError(`${other.long}: leave it out here`);
    if (flags.why !== undefined && !takesWhy(row)) {
      throw new UsageError('--why: leave it out here; nothing is changed');
    }
    await runOperation(context, command, row, { ...typed, ...typedOf(row, flags) });
  });
}

/** The flags that are no fields of the input. */
const COMMON: ReadonlySet<string> = new Set(['why', 'yes', 'csv', 'wait']);

/** Whether it is recorded, and so has a reason. */
const takesWhy = (row: Operation): boolean =>
  isChange(row) || row.csv !== undefined || row.hidesInput === true;

/** Adds a flag for each field of the input that is no argument, and those that every change has. */
function addFlags(command: Command, row: Operation, isOneOfSeveral = false): void {
  const args = new Set(argumentsOf(row));
  // Another operation of the same command may have added it, or take it as an argument.
  const add = (option: Option) => {
    if (!command.options.some(({ long }) => long === option.long)) command.addOption(option);
  };
  for (const [name, schema] of Object.entries(shapeOf(row.input))) {
    if (!args.has(name)) add(optionOf(name, schema, isOneOfSeveral));
  }
  if (takesWhy(row)) {
    const option = whyOption(row.maxWhy);
    add(row.why === 'always' ? option.makeOptionMandatory() : option);
  }
  if (row.csv !== undefined) {
    add(new Option('--csv', 'write the contacts as CSV, including phone numbers'));
  }
  if (row.preview !== undefined) add(new Option('--yes', 'do not ask for confirmation'));
  if (row.moves !== undefined) {
    add(new Option('--wait', 'wait until it has ended, or until Ctrl-C'));
  }
}

/** The values of the flags of an operation, by the names of its fields. */
export function typedOf(row: Operation, flags: Typed): Typed {
  const args = new Set(argumentsOf(row));
  const names = Object.keys(shapeOf(row.input)).filter((name) => !args.has(name));
  const given = names.filter((name) => flags[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, flags[name]]));
}

/** The description of a field, and whether it has to be given. */
function about(schema: z.ZodType | undefined) {
  const isRequired = schema?.safeParse(undefined).success === false;
  let description = schema?.description;
  for (let inner = schema; description === undefined;) {
    if (!(inner instanceof z.ZodOptional || inner instanceof z.ZodDefault)) break;
    inner = inner.unwrap() as z.ZodType;
    ({ description } = inner);
  }
  return { description: description ?? '', isRequired };
}

function optionOf(name: string, schema: z.ZodType, isOneOfSeveral: boolean): Option {
  const { description, isRequired } = about(schema);
  const inner = innerField(schema);
  const kind = kindOf(schema);
  const flag = flagOf(name, schema);
  if (kind === 'boolean') return optionFor(name, `--${flag}`, description);
  const words =
    inner instanceof z.ZodEnum
      ? `${description}: ${inner.options.join(', ')}`
      : inSystemWords(description);
  const takes = metaOf(schema, 'takes');
  const value = `${takes ?? (kind === 'number' ? 'n' : flag)}${kind === 'array' ? '...' : ''}`;
  const option = optionFor(name, `--${flag} <${value}>`, words);
  // Read again with the other fields; here it is refused with the name of its flag, and with its text: not a number.
  if (kind !== 'array' && takes !== 'phone number') {
    option.argParser((text) => {
      const { error } = schema.safeParse(fromTyped(schema, text));
      if (error !== undefined)
        throw new InvalidArgumentError(inSystemWords(error.issues[0]?.message ?? ''));
      return text;
    });
  }
  const { data } = schema.safeParse(undefined);
  if (data !== undefined) option.default(undefined, JSON.stringify(data));
  return isRequired && !isOneOfSeveral ? option.makeOptionMandatory() : option;
}
