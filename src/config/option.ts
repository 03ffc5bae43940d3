/**
 * What one row of the option table says. A row is the only place where an option's meaning, unit,
 * default and bounds stand: its schemas, the documentation and `notices config` come from it.
 */
interface Row {
  /** What it sets, in one sentence. */
  readonly meaning: string;
  /** What gets worse when it is raised or lowered, where that is not plain. */
  readonly note?: string;
  /** `service`: needed by whatever talks to the messaging service; producers go without. */
  readonly required?: 'service';
}

/** A whole number between two bounds, both allowed. */
interface IntegerOption extends Row {
  readonly kind: 'integer';
  /** In the plural, such as `milliseconds`. */
  readonly unit: string;
  readonly min: number;
  readonly max: number;
  readonly default: number;
}

/** A text that matches a pattern as a whole. */
interface TextOption extends Row {
  readonly kind: 'text';
  readonly pattern: RegExp;
  /** The pattern in words, after "expected". */
  readonly expected: string;
  readonly default?: string;
}

/** Like text, and never shown. It may also be given by a file, see {@link readsFile}. */
interface SecretOption extends Row {
  readonly kind: 'secret';
  readonly pattern: RegExp;
  readonly expected: string;
}

/** One word of a few. */
interface ChoiceOption extends Row {
  readonly kind: 'choice';
  readonly choices: readonly [string, ...string[]];
  readonly default: string;
}

/** An absolute address. None may have a query or a fragment. */
export interface UrlOption extends Row {
  readonly kind: 'url';
  readonly protocols: readonly string[];
  /**
   * Whether it may hold a user name and a password. If so, the password is never shown, and the
   * whole address may also be given by a file, see {@link readsFile}.
   */
  readonly userinfo: boolean;
  /** What may follow the host: anything, nothing, or the number of a Redis database. */
  readonly path: 'any' | 'none' | 'database';
  readonly expected: string;
  readonly default?: string;
}

/** Hosts with ports, separated by commas. */
interface ListOption extends Row {
  readonly kind: 'list';
  readonly default: readonly Address[];
}

/** Path of a file with PEM certificates; the value is what the file holds. */
export interface FileOption extends Row {
  readonly kind: 'file';
}

/** One row of the option table. */
export type Option =
  IntegerOption | TextOption | SecretOption | ChoiceOption | UrlOption | ListOption | FileOption;

/** Rows of one group by the name of their environment variable. */
export type OptionRows = Readonly<Record<string, Option>>;

/** One host of a list. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Type of a row's value where it is set. */
export type ValueOf<O extends Option> = O extends IntegerOption
  ? number
  : O extends ListOption
    ? readonly Address[]
    : O extends ChoiceOption
      ? O['choices'][number]
      : string;

/** Value of any option; undefined where it is not set. */
export type AnyValue = ValueOf<Option> | undefined;

/**
 * Whether the variable holds something secret. Each such variable `NAME` can also be given as
 * `NAME_FILE`, the path of a file that holds the value, as container platforms mount secrets.
 */
export function readsFile(option: Option): boolean {
  return option.kind === 'secret' || (option.kind === 'url' && option.userinfo);
}

/** What a right value looks like, as it stands after "expected" in an error and in the docs. */
export function expected(option: Option): string {
  switch (option.kind) {
    case 'integer':
      return `a whole number of ${option.unit} from ${option.min} to ${option.max}`;
    case 'choice':
      return `one of ${option.choices.join(', ')}`;
    case 'list':
      return 'a list of host:port, separated by commas';
    case 'file':
      return 'a file of PEM certificates';
    default:
      return option.expected;
  }
}
