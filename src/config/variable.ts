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

/** A schema whose valid values are described in these words, also in its message. */
const described = <Schema extends z.ZodType>(
  expected: string,
  schemaOf: (message: string) => Schema,
): Schema => schemaOf(`expected ${expected}`).meta({ expected });

/** A whole number; both bounds are allowed. `unit` is in the plural, such as `milliseconds`. */
export const integer = (unit: string, min: number, max: number) =>
  described(`a whole number of ${unit} from ${min} to ${max}`, (message) =>
    z.int(message).min(min, message).max(max, message),
  );

/** A duration: milliseconds in programs, and in the environment text such as `30s` (src/format/time.ts). */
export function duration(min: number, max: number) {
  const expected = `a duration from ${writeDuration(min)} to ${writeDuration(max)}`;
  return integer('milliseconds', min, max).meta({ expected, isDuration: true });
}

/** A text that the pattern matches as a whole; `expected` is the pattern in words. */
export const text = (pattern: RegExp, expected: string) =>
  described(expected, (message) => z.string(message).regex(pattern, message));

/** A text that is never shown. */
export const secret = (pattern: RegExp, expected: string) =>
  text(pattern, expected).meta({ secret: 'value' });

export const choice = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  described(`one of ${words.join(', ')}`, (message) => z.enum(words, message));

/** An absolute URL without query and fragment, normalized by {@link parseUrl}. */
export function url(rules: UrlRules, expected: string) {
  const schema = described(expected, (message) =>
    z.string(message).transform((given, context) => {
      const parsed = parseUrl(given, rules);
      if (parsed !== undefined) return parsed;
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    }),
  );
  return rules.userinfo ? schema.meta({ secret: 'password' }) : schema;
}

/** A list of hosts with ports; in the environment separated by commas. */
export const addresses = () =>
  described('a list of host:port, separated by commas', (message) => {
    const host = z.string(message).min(1, message);
    const port = z.int(message).min(1, message).max(65_535, message);
    return z.array(z.strictObject({ host, port }, message), message);
  });

const HOST = /^(?:[\w.-]{1,253}|\[?(?=.*:.*:)[0-9A-Fa-f:.]{2,45}\]?)$/;

/** A list of host names or addresses without ports; in the environment separated by commas. */
export const hosts = () =>
  described('names or addresses of hosts without ports, separated by commas', (message) =>
    z.array(z.string(message).regex(HOST, message), message),
  );

/** Where a server listens: in the environment a port, or an address of this machine and a port. @param port the default */
export const listenAddress = (port: number) =>
  described('a port from 0 to 65535, or an address and a port such as 0.0.0.0:9464', (message) =>
    z
      .strictObject(
        { host: z.string(message).min(1, message), port: z.int(message).min(0).max(65_535) },
        message,
      )
      .default({ host: LOOPBACK, port }),
  );

/** PEM certificates; the environment variable is the path of their file. */
export const certificates = () =>
  text(/-----BEGIN CERTIFICATE-----/, 'a file of PEM certificates').meta({ readsPath: true });

/** Answer rules; the environment variable is the path of their JSON file. */
export const answerRules = () =>
  described('a JSON file of answer rules (docs/answers.md)', () =>
    z
      .string()
      .transform((given, context): unknown => {
        try {
          return JSON.parse(given);
        } catch {
          context.addIssue({ code: 'custom', message: 'is not JSON' });
          return z.NEVER;
        }
      })
      .pipe(answerRulesSchema),
  ).meta({ readsPath: true });

export const sendWindows = () =>
  described(
    'entries such as PROMO_*=08:00-21:00 Asia/Seoul, separated by semicolons, each with an IANA time zone',
    (message) => z.string(message).refine((given) => windowsOf(given) !== undefined, message),
  );

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
