import type { Option, OptionRows, ValueOf } from './option.ts';
import { ALERT_OPTIONS } from './options/alerts.ts';
import { GENERAL_OPTIONS } from './options/general.ts';
import { OPS_OPTIONS } from './options/ops.ts';
import { QUEUE_OPTIONS } from './options/queue.ts';
import { REDIS_OPTIONS } from './options/redis.ts';
import { RESTORE_OPTIONS } from './options/restore.ts';
import { SERVICE_OPTIONS } from './options/service.ts';
import { TOKEN_OPTIONS } from './options/token.ts';
import { WORKER_OPTIONS } from './options/worker.ts';

/** The groups in the order in which the documentation shows them. */
export const OPTION_GROUPS: readonly { readonly title: string; readonly options: OptionRows }[] = [
  { title: 'Messaging service', options: SERVICE_OPTIONS },
  { title: 'Redis', options: REDIS_OPTIONS },
  { title: 'Queue', options: QUEUE_OPTIONS },
  { title: 'Workers', options: WORKER_OPTIONS },
  { title: 'Restore guard', options: RESTORE_OPTIONS },
  { title: 'Token', options: TOKEN_OPTIONS },
  { title: 'Ops server', options: OPS_OPTIONS },
  { title: 'Alerts', options: ALERT_OPTIONS },
  { title: 'General', options: GENERAL_OPTIONS },
];

/** Every option by the name of its environment variable, with its types as they were written. */
export const OPTIONS = {
  ...SERVICE_OPTIONS,
  ...REDIS_OPTIONS,
  ...QUEUE_OPTIONS,
  ...WORKER_OPTIONS,
  ...RESTORE_OPTIONS,
  ...TOKEN_OPTIONS,
  ...OPS_OPTIONS,
  ...ALERT_OPTIONS,
  ...GENERAL_OPTIONS,
};

type Table = typeof OPTIONS;

/** Name of an environment variable that this program reads. */
export type OptionName = keyof Table;

/** Type of an option's value where it is set. */
export type OptionValue<N extends OptionName> = ValueOf<Table[N]>;

/** The value of every option; undefined where it is not set and has no default. */
export type Values = {
  readonly [N in OptionName]:
    OptionValue<N> | (Table[N] extends { readonly default: unknown } ? never : undefined);
};

/** All names, in the order of the groups. */
export const OPTION_NAMES: readonly OptionName[] = Object.keys(OPTIONS).filter(isOptionName);

function isOptionName(name: string): name is OptionName {
  return Object.hasOwn(OPTIONS, name);
}

/** A row without the particular types of its literals. */
export function optionOf(name: OptionName): Option {
  return OPTIONS[name];
}
