import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import type { Command } from 'commander';
import type { z } from 'zod';
import { InputError } from '../contracts/errors.ts';
import { parseInput } from '../contracts/parse-input.ts';
import { countOf, formatCount } from '../format/format.ts';
import type { Actor } from '../ops/audit.ts';
import { fromTexts, kindOf, metaOf, shapeOf } from '../ops/operations/fields.ts';
import {
  isChange,
  paramsOf,
  type Operation,
  type OperationCall,
  type OperationContext,
} from '../ops/operations/operation.ts';
import { inSystemWords } from '../format/time.ts';
import { inSystemZone } from './arguments.ts';
import {
  UsageError,
  STOPPED,
  currentUser,
  untilStopped,
  type CommandContext,
} from './command-context.ts';
import { agreed } from './confirm.ts';
import { withLedger } from './open-queue.ts';
import { saysExported, print, wantsJson, writeLines, writeOut, writeText } from './output.ts';
import { ProgressLines } from './progress.ts';

/** Pause between two looks with `--wait`, in milliseconds. */
const LOOK_MS = 500;

/** The values of the flags and arguments of a command, as they were typed. */
export type Typed = Readonly<Record<string, unknown>>;

/** With the flags that are no fields of the input. */
export interface CommonFlags extends Typed {
  readonly why?: string;
  readonly yes?: boolean;
  readonly csv?: boolean;
  readonly wait?: boolean;
}

/** The fields of the input that are arguments, not flags. */
export function argumentsOf(row: Operation): string[] {
  return [...paramsOf(row), ...(row.args ?? [])];
}

export function flagOf(field: string, schema: z.ZodType | undefined): string {
  const flag = metaOf(schema, 'flag') ?? field.replace(/Ms$/, '');
  return flag.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** What was typed, as the schema of its field takes it. */
export function fromTyped(schema: z.ZodType | undefined, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const takes = metaOf(schema, 'takes');
  if (takes === 'time') {
    const at = inSystemZone(value);
    return at === undefined ? value : new Date(at).toISOString();
  }
  return takes === undefined ? fromTexts([value], kindOf(schema)) : value;
}

/** Runs an operation with what was typed, after its preview, and prints its answer; with `--csv` its contacts. */
export async function runOperation(
  context: CommandContext,
  command: Command,
  row: Operation,
  typed: Typed,
): Promise<unknown> {
  const input = parsed(row, await withStdin(context, row, typed));
  const { why = '', yes, csv, wait } = command.opts<CommonFlags>();
  const json = wantsJson(command);
  if (csv === true && json) {
    throw new UsageError('use either --csv (the contacts) or --json (the summary)');
  }
  const actor = { who: currentUser(), why };
  try {
    return await withLedger(context, async (target) => {
      if (csv === true) {
        await writeCsv(context, row, target, input, actor);
        return undefined;
      }
      const lines = new ProgressLines(row.name, context.stderr);
      const onProgress = (done: number) => {
        if (!json) lines.show(undefined, formatCount(done));
      };
      const checked = await untilStopped(context, (signal) =>
        agreedOn(context, row, target, input, { ...actor, signal }, json, yes),
      );
      if (checked === undefined) return undefined;
      let isStopped = false;
      const answer = await untilStopped(context, async (signal) => {
        const call = { ...actor, signal, onProgress };
        let done = await row.run(target, checked.input as never, call);
        const isMoving = () => wait === true && row.moves?.(done) === true;
        while (isMoving() && !signal.aborted) {
          await setTimeout(LOOK_MS, undefined, { signal }).catch(() => {});
          done = await row.run(target, checked.input as never, call);
        }
        isStopped = signal.aborted && isChange(row);
        return done;
      });
      lines.end();
      print(context, command, answer, () => [
        ...(row.text?.(answer, Date.now(), checked.input as never) ?? []),
        ...(isStopped ? [STOPPED] : []),
      ]);
      if (isStopped || row.isDone?.(answer) === false) context.end(1);
      return answer;
    });
  } catch (error) {
    throw usageOf(row, error);
  }
}

/** Standard input keeps a phone number out of the shell history and of the process list. */
async function withStdin({ stdin }: CommandContext, row: Operation, typed: Typed): Promise<Typed> {
  const shape = shapeOf(row.input);
  const isNumber = ([name, value]: [string, unknown]) =>
    value === '-' && metaOf(shape[name], 'takes') === 'phone number';
  const [name] = Object.entries(typed).find(isNumber) ?? [];
  return name === undefined ? typed : { ...typed, [name]: (await text(stdin)).trim() };
}

async function writeCsv(
  { stdout, stderr }: CommandContext,
  { csv }: Operation,
  target: OperationContext,
  input: unknown,
  actor: Actor,
): Promise<void> {
  if (csv === undefined) return;
  const { appendAudit } = await import('../ops/audit.ts');
  const { entry, produce } = await csv.open(target, input as never, actor);
  await appendAudit(target, actor, entry);
  const { contacts, gone = 0 } = await produce((text) => writeOut(stdout, text));
  saysExported({ stderr }, contacts);
  if (gone > 0) {
    const chunks = countOf(gone, 'chunk or part of a chunk', 'chunks or parts of chunks');
    writeText(stderr, `${chunks} left out: sent again meanwhile.\n`);
  }
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
  const shown = await row.preview?.(target, input as never, call);
  // What comes after the preview was not in it, even where it found nothing.
  if (shown?.question === undefined) return { input: shown?.input ?? input };
  if (!json) writeLines(context.stderr, shown.lines);
  return (await agreed(context, shown.question, yes)) ? { input: shown.input } : undefined;
}

/** @throws UsageError that names every invalid flag and argument */
export function parsed(row: Operation, typed: Typed): unknown {
  const shape = shapeOf(row.input);
  const values = Object.entries(typed).flatMap(([name, value]) => {
    return value === undefined ? [] : [[name, fromTyped(shape[name], value)]];
  });
  try {
    return parseInput(row.input, Object.fromEntries(values), 'REQUEST_INVALID', '', 'input');
  } catch (error) {
    throw usageOf(row, error);
  }
}

/** Where a problem may name another field. */
const OTHER_FIELD = /(?<=\b(?:of|as|either|without|than|and|or|expected) |, )[a-z]\w*/g;

/** Errors about the input name flags, not fields. */
function usageOf(row: Operation, error: unknown): unknown {
  if (!(error instanceof InputError) || error.code !== 'REQUEST_INVALID') return error;
  const args = new Set(argumentsOf(row));
  const shape = shapeOf(row.input);
  const flagged = (name: string, item = '') => {
    const flag = `${flagOf(name, shape[name])}${item}`;
    return args.has(name) ? `<${flag}>` : `--${flag}`;
  };
  const problems = error.issues.map(({ field, problem }) => {
    const [name = '', item = ''] = field.split(/(?=\[)/);
    const words = inSystemWords(problem).replaceAll(OTHER_FIELD, (word) =>
      word in shape ? flagged(word) : word,
    );
    return `${flagged(name, item)}: ${words}`;
  });
  return new UsageError(problems.join('; '));
}
