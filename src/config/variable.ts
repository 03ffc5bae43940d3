import { z } from 'zod';
import { answerRulesSchema } from '../contracts/answer-rules.ts';
import { windowsOf } from '../contracts/send-windows.ts';
import { parseDuration, writeDuration } from '../format/time.ts';
import { LOOPBACK, parseAddress, parseListenAddress, parseUrl, type UrlRules } from './address.ts';

/**
 * One environment variable: a zod schema of its value, and metadata from which docs/configuration.md,
 * .env.example, error messages and `notices config` are generated.
 */
export type Row = z.ZodType & { readonly variable: string };

/** What a row documents, as given to {@link variable}. */
interface Documentation {
  readonly description: string;
  /** What gets worse when it is raised or lowered, where that is not obvious. */
  readonly note?: string;
  /** Required by every program that calls the messaging service; producers need none of these. */
  readonly required?: true;
}

/** Metadata of a row: its documentation and what the builder of its schema adds. */
interface Metadata extends Documentation {
  /** The valid values in words, after "expected" in errors and in the docs. */
  readonly expected: string;
  /**
   * What is never shown: the whole value, or the password in an address. Such a variable `NAME` can
   * also be given as `NAME_FILE`, the path of a file with the value, as container platforms mount secrets.
   */
  readonly secret?: 'value' | 'password';
  /** The variable is a path, and the value is made of the content of that file. */
  readonly readsPath?: true;
  /** The value is milliseconds; its text is a duration. */
  readonly isDuration?: true;
}

/** Declares one variable. The output type of the configuration field is that of the schema. */
export function variable<const N extends string, S extends z.ZodType>(
  name: N,
  schema: S,
  documentation: Documentation,
): S & { readonly variable: N } {
  return Object.assign(schema.meta({ ...withoutDefault(schema).meta(), ...documentation }), {
    variable: name,
  });
}

export function metadataOf(row: Row): Metadata {
  return row.meta() as unknown as Metadata;
}

/** The default of a row; undefined where it has none. */
export function defaultOf(row: Row): unknown {
  return row instanceof z.ZodDefault ? row.def.defaultValue : undefined;
}

/** The schema inside `.default()` or `.exactOptional()`, which accepts a set value only. */
export function withoutDefault(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodDefault || schema instanceof z.ZodExactOptional
    ? (schema.unwrap() as z.ZodType)
    : schema;
}

/** A whole number; both bounds are allowed. `unit` is in the plural, such as `milliseconds`. */
export function integer(unit: string, min: number, max: number) {
  const expected = `a whole number of ${unit} from ${min} to ${max}`;
  const message = `expected ${expected}`;
  return z.int(message).min(min, message).max(max, message).meta({ expected });
}

/** A duration: milliseconds in programs, and in the environment text such as `30s` (src/format/time.ts). */
export function duration(min: number, max: number) {
  const expected = `a duration from ${writeDuration(min)} to ${writeDuration(max)}`;
  return integer('milliseconds', min, max).meta({ expected, isDuration: true });
}

/** A text that the pattern matches as a whole; `expected` is the pattern in words. */
export function text(pattern: RegExp, expected: string) {
  const message = `expected ${expected}`;
  return z.string(message).regex(pattern, message).meta({ expected });
}

/** A text that is never shown. */
export function secret(pattern: RegExp, expected: string) {
  return text(pattern, expected).meta({ secret: 'value' });
}

export function choice<const Words extends readonly [string, ...string[]]>(words: Words) {
  const expected = `one of ${words.join(', ')}`;
  return z.enum(words, `expected ${expected}`).meta({ expected });
}

/** An absolute URL without query and fragment, normalized by {@link parseUrl}. */
export function url(rules: UrlRules, expected: string) {
  const schema = z
    .string(`expected ${expected}`)
    .transform((given, context) => {
      const parsed = parseUrl(given, rules);
      if (parsed !== undefined) return parsed;
      context.addIssue({ code: 'custom', message: `expected ${expected}` });
      return z.NEVER;
    })
    .meta({ expected });
  return rules.userinfo ? schema.meta({ secret: 'password' }) : schema;
}

/** A list of hosts with ports; in the environment separated by commas. */
export function addresses() {
  const expected = 'a list of host:port, separated by commas';
  const message = `expected ${expected}`;
  const host = z.string(message).min(1, message);
  const port = z.int(message).min(1, message).max(65_535, message);
  return z.array(z.strictObject({ host, port }, message), message).meta({ expected });
}

/** A list of host names or addresses without ports; in the environment separated by commas. */
export function hosts() {
  const expected = 'names or addresses of hosts without ports, separated by commas';
  const message = `expected ${expected}`;
  const host = z
    .string(message)
    .regex(/^(?:[\w.-]{1,253}|\[?(?=.*:.*:)[0-9A-Fa-f:.]{2,45}\]?)$/, message);
  return z.array(host, message).meta({ expected });
}

/** Where a server listens: in the environment a port, or an address of this machine and a port. @param port the default */
export function listenAddress(port: number) {
  const expected = 'a port from 0 to 65535, or an address and a port such as 0.0.0.0:9464';
  const message = `expected ${expected}`;
  return z
    .strictObject(
      { host: z.string(message).min(1, message), port: z.int(message).min(0).max(65_535) },
      message,
    )
    .default({ host: LOOPBACK, port })
    .meta({ expected });
}

/** PEM certificates; the environment variable is the path of their file. */
export function certificates() {
  const expected = 'a file of PEM certificates';
  return z
    .string()
    .regex(/-----BEGIN CERTIFICATE-----/, `expected ${expected}`)
    .meta({ expected, readsPath: true });
}

/** Answer rules; the environment variable is the path of their JSON file. */
export function answerRules() {
  const expected = 'a JSON file of answer rules (docs/answers.md)';
  return z
    .string()
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text);
      } catch {
        context.addIssue({ code: 'custom', message: 'is not JSON' });
        return z.NEVER;
      }
    })
    .pipe(answerRulesSchema)
    .meta({ expected, readsPath: true });
}

export function sendWindows() {
  const expected =
    'entries such as PROMO_*=08:00-21:00 Asia/Seoul, separated by semicolons, each with an IANA time zone';
  return z
    .string(`expected ${expected}`)
    .refine((text) => windowsOf(text) !== undefined, `expected ${expected}`)
    .meta({ expected });
}

/** Parses the text of an environment variable. A text that cannot be converted fails the schema. */
export function parseText(row: Row, given: string): z.ZodSafeParseResult<unknown> {
  const schema = withoutDefault(row);
  if (metadataOf(row).isDuration === true) {
    const ms = parseDuration(given);
    if (ms !== undefined) return schema.safeParse(ms);
  }
  if (schema instanceof z.ZodNumber && /^[+-]?\d{1,16}$/.test(given)) {
    return schema.safeParse(Number(given));
  }
  if (schema instanceof z.ZodObject) {
    return schema.safeParse(parseListenAddress(given));
  }
  if (schema instanceof z.ZodArray) {
    const parts = given.split(',').map((part) => part.trim());
    const entries = parts.filter((part) => part !== '');
    if (schema.element instanceof z.ZodString) return schema.safeParse(entries);
    const parsed = entries.map((entry) => parseAddress(entry));
    return schema.safeParse(parsed.includes(undefined) ? given : parsed);
  }
  return schema.safeParse(given);
}
