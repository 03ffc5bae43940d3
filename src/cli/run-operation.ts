import type { Command } from 'commander';
import { z } from 'zod';
import { InputError, NoticeQueueError } from '../contracts/errors.ts';
import { parseInput } from '../contracts/parse-input.ts';
import { countOf, formatCount } from '../format/format.ts';
import type { Actor } from '../ops/audit.ts';
import { fromTexts, kindOf, shapeOf } from '../ops/operations/from-text.ts';
import {
  isChange,
  paramsOf,
  runParsed,
  type Operation,
  type OperationCall,
  type OperationContext,
  type OperationPreview,
} from '../ops/operations/operation.ts';
import { STOPPED, currentUser, untilStopped, type CommandContext } from './command-context.ts';
import { agreed } from './confirm.ts';
import { withLedger, type OpenLedger } from './open-queue.ts';
import { print, wantsJson, writeLines, writeOut, writeText } from './output.ts';
import { ProgressLines } from './progress.ts';
import { saysExported } from './says-exported.ts';
import { UsageError } from './usage-error.ts';

/** The values of the flags and arguments of a command, as they were typed. */
export type Typed = Readonly<Record<string, unknown>>;

/** With the flags that are no fields of the input. */
export interface CommonFlags extends Typed {
  readonly why?: string;
  readonly yes?: boolean;
  readonly csv?: boolean;
  readonly notices?: boolean;
}

/** The fields of the input that are arguments, not flags. */
export function argumentsOf(row: Operation): string[] {
  return [...paramsOf(row), ...(row.args ?? [])];
}

/** What commander calls the flag of a field. */
export const flagName = (field: string): string => field.replace(/Ms$/, '');

export const kebab = (field: string): string =>
  flagName(field).replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** What was typed, as the schema of its field takes it. */
export function fromTyped(schema: z.ZodType | undefined, value: unknown): unknown {
  const isText = typeof value !== 'string' || takenBy(schema) !== undefined;
  return isText ? value : fromTexts([value], kindOf(schema));
}

/** Whether a field takes a time or a duration, which a command line has as text. */
export function takenBy(schema: z.ZodType | undefined): string | undefined {
  const takes = schema?.meta()?.['takes'];
  if (typeof takes === 'string') return takes;
  return schema instanceof z.ZodOptional ? takenBy(schema.unwrap() as z.ZodType) : undefined;
}

/** Runs an operation with what was typed, after its preview, and prints its answer; with `--csv` its contacts. */
export async function runOperation(
  context: CommandContext,
  command: Command,
  row: Operation,
  typed: Typed,
): Promise<void> {
  const input = parsed(row, typed);
  const { why = '', yes, csv } = command.opts<CommonFlags>();
  const json = wantsJson(command);
  if (csv === true && json) {
    throw new UsageError('use either --csv (the contacts) or --json (the summary)');
  }
  const actor = { who: currentUser(), why };
  await asUsage(row, () =>
    withLedger(context, async (open) => {
      const target = contextOf(open);
      if (csv === true) {
        await writeCsv(context, row, target, input, actor);
        return;
      }
      const lines = new ProgressLines(row.name, context.stderr);
      const onProgress = (done: number) => {
        if (!json) lines.show(undefined, formatCount(done));
      };
      const checked = await untilStopped(context, (signal) =>
        agreedOn(context, row, target, input, { ...actor, signal }, json, yes),
      );
      if (checked === undefined) return;
      let isStopped = false;
      const answer = await untilStopped(context, async (signal) => {
        const call = { ...actor, signal, onProgress };
        const done = await runParsed(row, target, checked.input, call);
        isStopped = signal.aborted && isChange(row);
        return done;
      });
      lines.end();
      print(context, command, answer, () => [
        ...(row.text?.(answer as never, Date.now()) ?? []),
        ...(isStopped ? [STOPPED] : []),
      ]);
      if (isStopped || row.isDone?.(answer as never) === false) context.end(1);
    }),
  );
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
  await appendAudit(target.redis, target.keys, entry);
  const { contacts, gone = 0 } = await produce((text) => writeOut(stdout, text));
  saysExported({ stderr }, contacts);
  if (gone > 0) {
    const chunks = countOf(gone, 'chunk or part of a chunk', 'chunks or parts of chunks');
    writeText(stderr, `${chunks} left out: sent again meanwhile.\n`);
  }
}

/** What the operation works with. */
export function contextOf({ config, ...open }: OpenLedger): OperationContext {
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
    return value === undefined ? [] : [[name, fromTyped(shape[name], value)]];
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
