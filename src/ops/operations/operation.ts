import type { z } from 'zod';
import type { CancelSignal } from '../../contracts/token.ts';
import type { Sealing } from '../../payload/seal.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { translated } from '../../redis/failure.ts';
import { redisTime } from '../../redis/server-clock.ts';
import type { Actor, AuditEntry } from '../audit.ts';
import type { EntrySource } from '../entries.ts';
import type { Status } from '../answers/account-schemas.ts';
import type { Answer } from '../../contracts/answer.ts';

export type { Answer };

/** What the help says of a command, beside its text. */
export interface CommandHelp {
  readonly group: 'Single notices' | 'Batches' | 'Not accepted' | 'Account' | 'Processes';
  readonly example: string;
  /** What its description adds to the summary: what only the command does. */
  readonly adds?: string;
}

/** What the function of an operation works with. */
export interface OperationContext extends EntrySource {
  readonly sealing: Sealing;
  /** RATE_LIMIT, shown until a worker has reported its own; 0 for no limit. */
  readonly configuredRateLimit: number;
  /** Of the search for a phone number. */
  readonly findSettings: { readonly findKey?: string | undefined; readonly keepFailedMs: number };
  readonly status: () => Promise<Status>;
}

/** Longest duration of a request in milliseconds; the answer tells what is left. */
export const MOST_MS = 20_000;

/** Who calls, and what ends the call early. */
export interface OperationCall extends Actor {
  /** Stops it between two steps; what was done before stays done. */
  readonly signal?: AbortSignal | undefined;
  /** Set over HTTP: the server ends. Its {@link signal} is aborted then, too, and after {@link MOST_MS}. */
  readonly closing?: CancelSignal | undefined;
  /** Set over HTTP: a list then reads a bounded number of entries, and tells whether that is all. */
  readonly bounded?: boolean | undefined;
  /** Of the caller over HTTP: a viewer sees no numbers, and a sender has idempotency keys of its own. */
  readonly role?: 'viewer' | 'operator' | 'sender' | undefined;
  /** Called with the number that is done so far, where there are many. */
  readonly onProgress?: ((done: number) => void) | undefined;
}

/** What would be done, for the question whether to do it. */
export interface OperationPreview<Input> {
  readonly lines: readonly string[];
  /** Undefined where there is nothing to do: the operation then answers so itself. */
  readonly question: string | undefined;
  /** The input that does no more than what was shown. */
  readonly input: Input;
}

/** Contacts as CSV, with their numbers in full. */
export interface OperationExport {
  /** Recorded before the first of them is written. */
  readonly entry: AuditEntry;
  readonly fileName: string;
  /** Writes the text piece by piece; `write` returns false to stop. @returns how many contacts, and chunks that are gone */
  readonly produce: (
    write: (text: string) => Promise<boolean>,
  ) => Promise<{ readonly contacts: number; readonly gone?: number }>;
}

/**
 * An operation: from this row come the HTTP route with its OpenAPI, the command with its flags and help, what
 * `NoticeAdmin.run` takes and answers, and the test matrix. Its function records a change in the audit stream.
 */
export interface OperationSpec<Name extends string, I extends z.ZodObject, O extends z.ZodType> {
  /** The words of its command. */
  readonly name: Name;
  /** What it does. */
  readonly summary: string;
  /** Set where its command, or that of all operations with the same first word, does no more than run them. */
  readonly help?: CommandHelp;
  readonly answers: string;
  /** `any` and `sender-or-operator` let the API keys of senders in. */
  readonly needs: 'viewer' | 'operator' | 'any' | 'sender-or-operator';
  /** It changes nothing, and its input must not be part of a URL. */
  readonly hidesInput?: true;
  /** Path of its route. Its parameters, such as `:id`, are fields of the input, and arguments of the command. */
  readonly path: string;
  /**
   * Set where it changes something, which is recorded with who did it and why. A program over HTTP says why, a person at a
   * terminal may; `always`: the reason is shown to others, too. `may`: it is optional.
   */
  readonly why?: 'always' | 'over-http' | 'may';
  readonly maxWhy?: number;
  /** Highest number of requests per caller and minute; `notices`: as many as notices may be sent. Default: that of the server. */
  readonly perMinute?: number | 'notices';
  /** Fields that are arguments of the command, besides the parameters of the path. */
  readonly args?: readonly string[];
  readonly input: I;
  readonly output: O;
  /** Why it can be refused, by HTTP status, besides what every operation answers. */
  readonly problems?: Readonly<Record<number, string>>;
  /** What a command shows before it asks whether to go on. */
  preview?(
    context: OperationContext,
    input: z.output<I>,
    call: OperationCall,
  ): Promise<OperationPreview<z.output<I>>>;
  run(
    context: OperationContext,
    input: z.output<I>,
    call: OperationCall,
  ): Promise<Answer<z.output<O>>>;
  /**
   * The contacts of what it lists, for operators: its path with `.csv`, and the flag `--csv` of its command. It contains
   * phone numbers.
   */
  readonly csv?: {
    readonly summary: string;
    open(context: OperationContext, input: z.output<I>, actor: Actor): Promise<OperationExport>;
  };
  /** The answer in lines for a terminal. */
  text?(answer: Answer<z.output<O>>, now: number, input: z.output<I>): readonly string[];
  /** Whether a command ends with 0. Default: always */
  isDone?(answer: Answer<z.output<O>>): boolean;
  /** Whether the answer changes by itself: a command can wait for its end. */
  moves?(answer: Answer<z.output<O>>): boolean;
}

/** A row of the table, whatever its types. */
export type Operation = OperationSpec<string, z.ZodObject, z.ZodType>;

/** Defines a row; its function gets the input that its schema has parsed. */
export function operation<
  const Name extends string,
  I extends z.ZodObject,
  const O extends z.ZodType,
>(spec: OperationSpec<Name, I, O>): OperationSpec<Name, I, O> {
  return spec;
}

export const isChange = ({ why }: Pick<Operation, 'why'>): boolean => why !== undefined;

/** The names of the parameters in a path. */
export function paramsOf({ path }: Pick<Operation, 'path'>): string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
}

/** Redis time, rounded up: what is later is after it. */
export const redisNow = async (redis: RedisClient): Promise<number> =>
  Math.ceil(await translated(redisTime(redis)));
