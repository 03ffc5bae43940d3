import { Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { innerField, kindOf, shapeOf } from '../ops/operations/from-text.ts';
import { isChange, type Operation } from '../ops/operations/operation.ts';
import { MAX_WHY_LENGTH, whyOption } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import {
  argumentsOf,
  flagName,
  fromTyped,
  kebab,
  runOperation,
  takenBy,
  type CommonFlags,
  type Typed,
} from './run-operation.ts';
import { UsageError } from './usage-error.ts';

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
  for (const arg of args) addArgument(command, arg, shapeOf(row.input)[arg]);
  addFlags(command, row);
  return command.action((...given: unknown[]) => {
    const values = Object.fromEntries(args.map((arg, index) => [arg, given[index]]));
    return runOperation(context, command, row, { ...values, ...typedOf(row, command.opts()) });
  });
}

/** A command that shows what the first operation answers, or with its argument does the second. */
export function showOrSet(context: CommandContext, show: Operation, set: Operation): Command {
  const [name = ''] = show.name.split(' ');
  const [arg = ''] = argumentsOf(set);
  const { description } = about(shapeOf(set.input)[arg]);
  const command = new Command(name).argument(`[${kebab(arg)}]`, description);
  addFlags(command, set);
  return command.action((given: string | undefined) => {
    if (given !== undefined) return runOperation(context, command, set, { [arg]: given });
    if (command.opts<CommonFlags>().why !== undefined) {
      throw new UsageError(`--why requires a ${kebab(arg)}`);
    }
    return runOperation(context, command, show, {});
  });
}

/**
 * A command about a batch with its id, else about single notices.
 *
 * @param named whether single notices can be named by their ids; without ids and a batch, all need `--notices` then
 */
export function batchOrNotices(
  context: CommandContext,
  name: string,
  ofBatch: Operation,
  ofNotices: Operation,
  named: boolean,
): Command {
  const command = new Command(name).argument(
    named ? '[ids...]' : '[id]',
    named ? 'id of the batch, or ids of single notices' : 'id of the batch',
  );
  if (named) command.option('--notices', ALL_NOTICES);
  // The states of a batch include those of single notices.
  addFlags(command, ofBatch);
  addFlags(command, ofNotices);
  return command.action((given: string | string[] | undefined) => {
    const [id, ...more] = [given ?? []].flat();
    const flags = command.opts<CommonFlags>();
    if (named) requireNamed(given, flags);
    const isBatch = id !== undefined && more.length === 0 && !NOTICE_ID.test(id);
    const row = isBatch ? ofBatch : ofNotices;
    const odd = isBatch ? ofNotices : ofBatch;
    for (const field of Object.keys(typedOf(odd, flags))) {
      if (field in shapeOf(row.input)) continue;
      throw new UsageError(
        `--${kebab(field)}: leave it out; it is for ${isBatch ? 'single notices' : 'a batch'}`,
      );
    }
    const names = isBatch ? { id } : { ids: id === undefined ? undefined : [id, ...more] };
    return runOperation(context, command, row, {
      ...(named || isBatch ? names : {}),
      ...typedOf(row, flags),
    });
  });
}

/** A command about single notices that are named by their ids, or all that match with `--notices`. */
export function noticesCommand(context: CommandContext, row: Operation): Command {
  const command = operationCommand(context, row).option('--notices', ALL_NOTICES);
  return command.action((ids: string[]) => {
    requireNamed(ids, command.opts());
    const named = ids.length === 0 ? {} : { ids };
    return runOperation(context, command, row, { ...named, ...typedOf(row, command.opts()) });
  });
}

const ALL_NOTICES = 'all single notices that match the flags';

/** Ids that this package gives to single notices. */
const NOTICE_ID = /^n-/;

/** @throws UsageError for both ids and all, or neither */
function requireNamed(ids: string | readonly string[] | undefined, flags: CommonFlags): void {
  const isNamed = ids !== undefined && ids.length > 0;
  if (isNamed === (flags.notices === true)) throw new UsageError('use either ids or --notices');
}

function addArgument(command: Command, name: string, schema: z.ZodType | undefined): void {
  const { description, isRequired } = about(schema);
  const words = `${kebab(name)}${kindOf(schema) === 'array' ? '...' : ''}`;
  command.argument(isRequired ? `<${words}>` : `[${words}]`, description);
}

/** Adds a flag for each field of the input that is no argument, and those that every change has. */
export function addFlags(command: Command, row: Operation): void {
  const args = new Set(argumentsOf(row));
  // Another operation of the same command may have added it.
  const add = (option: Option) => {
    if (!command.options.some(({ long }) => long === option.long)) command.addOption(option);
  };
  for (const [name, schema] of Object.entries(shapeOf(row.input))) {
    if (!args.has(name)) add(flagOf(name, schema));
  }
  if (isChange(row) || row.csv !== undefined) {
    const option = whyOption(row.maxWhy ?? MAX_WHY_LENGTH);
    add(row.why === 'always' ? option.makeOptionMandatory() : option);
  }
  if (row.csv !== undefined) {
    add(new Option('--csv', 'write the contacts as CSV, including phone numbers'));
  }
  if (row.preview !== undefined) add(new Option('--yes', 'do not ask for confirmation'));
}

/** The values of the flags of an operation, by the names of its fields. */
export function typedOf(row: Operation, flags: Typed): Typed {
  const fields = Object.keys(shapeOf(row.input)).map((name) => [name, flags[flagName(name)]]);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as Typed;
}

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
  const words =
    inner instanceof z.ZodEnum ? `${description}: ${inner.options.join(', ')}` : description;
  const option = new Option(`${flag} <${placeholderOf(schema, kebab(name))}>`, words);
  // Read again with the other fields; here it is refused with the name of its flag.
  if (kind !== 'array') {
    option.argParser((text) => {
      const { error } = schema.safeParse(fromTyped(schema, text));
      if (error !== undefined) throw new InvalidArgumentError(error.issues[0]?.message ?? '');
      return text;
    });
  }
  const { data } = schema.safeParse(undefined);
  if (data !== undefined) option.default(undefined, JSON.stringify(data));
  return isRequired ? option.makeOptionMandatory() : option;
}

function placeholderOf(schema: z.ZodType, name: string): string {
  return takenBy(schema) ?? (kindOf(schema) === 'number' ? 'n' : name);
}
