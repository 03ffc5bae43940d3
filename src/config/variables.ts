import { z } from 'zod';
import { choice, text, variable, type Row } from './variable.ts';
import { eventVariables, opsVariables } from './variables/ops.ts';
import { queueVariables } from './variables/queue.ts';
import { redisVariables, redisWatchVariables, restoreVariables } from './variables/redis.ts';
import { serviceVariables } from './variables/service.ts';
import { workerVariables } from './variables/worker.ts';

/** Variables of every program of this package. */
export const generalVariables = {
  account: variable(
    'ACCOUNT',
    text(/^[a-z0-9-]{1,32}$/, '1 to 32 lower-case letters, digits and hyphens').default('default'),
    {
      description:
        'Name of the account: one key pair with its queue, shared token, holds and rate limit.',
    },
  ),
  logLevel: variable(
    'LOG_LEVEL',
    choice(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
    {
      description: 'The lowest level of log lines that are written.',
      note: 'An attempt has a line; with `info`, not where its notice was accepted at once, which is counted every ten seconds.',
    },
  ),
};

/** Every variable at the place of its value in the configuration. */
const tree = z.object({
  service: z.object(serviceVariables),
  redis: z.object(redisVariables),
  redisWatch: z.object(redisWatchVariables),
  queue: z.object(queueVariables),
  worker: z.object(workerVariables),
  restore: z.object(restoreVariables),
  ops: z.object(opsVariables),
  events: z.object(eventVariables),
  ...generalVariables,
});

type RowsIn<S> =
  S extends z.ZodObject<infer Shape>
    ? { [Field in keyof Shape]: RowsIn<Shape[Field]> }[keyof Shape]
    : S;
type AnyRow = Extract<RowsIn<typeof tree>, { variable: string }>;

export type VariableName = AnyRow['variable'];

/** Value of every variable by its name; absent where it is not set and has no default. */
export type Values = Readonly<
  z.output<z.ZodObject<{ [N in VariableName]: Extract<AnyRow, { variable: N }> }>>
>;

/** Value of every variable at its place in the configuration. */
export type ValueTree = z.output<typeof tree>;

/** Every row with the part and the field of its value; a general one is a part by itself. */
const PLACES = Object.entries(tree.shape).flatMap(([part, inner]) => {
  const rows = inner instanceof z.ZodObject ? Object.entries(inner.shape) : [['', inner] as const];
  return rows.map(([field, row]) => ({
    part,
    field,
    row: row as Row & { readonly variable: VariableName },
  }));
});

/** The rows in groups, in the order of the documentation. */
export const VARIABLE_GROUPS: readonly { readonly title: string; readonly rows: readonly Row[] }[] =
  [
    { title: 'Messaging service', rows: rowsOf('service') },
    { title: 'Redis', rows: [...rowsOf('redis'), ...rowsOf('redisWatch')] },
    { title: 'Queue', rows: rowsOf('queue') },
    { title: 'Workers', rows: rowsOf('worker') },
    { title: 'Restore guard', rows: rowsOf('restore') },
    { title: 'Ops server', rows: rowsOf('ops') },
    { title: 'Events', rows: rowsOf('events') },
    { title: 'General', rows: Object.values(generalVariables) },
  ];

/** Every row, in the order of the documentation. */
export const ROWS = PLACES.map(({ row }) => row);

export function rowOf(name: VariableName): Row {
  const row = ROWS.find(({ variable }) => variable === name);
  if (row === undefined) throw new TypeError(`${name} is no variable of this program`);
  return row;
}

/** Puts every value at its place in the configuration; fields without a value are absent. */
export function asTree(values: Values): ValueTree {
  const parts: Record<string, unknown> = {};
  for (const { part, field, row } of PLACES) {
    const value = values[row.variable];
    const own = field === '' ? parts : ((parts[part] ??= {}) as Record<string, unknown>);
    if (value !== undefined) own[field || part] = value;
  }
  return parts as ValueTree;
}

/** A part of the configuration. */
export type Section = keyof ValueTree;

/** The rows of a part, in the order of the documentation. */
export function rowsOf(section: Section): readonly Row[] {
  return PLACES.filter(({ part }) => part === section).map(({ row }) => row);
}
