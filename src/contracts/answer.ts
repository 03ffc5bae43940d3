import { z } from 'zod';

/*
 * Fields that many answers have. A schema describes what the HTTP API and `--json` both show; types and documents are made
 * of it, and tests check answers against it.
 */

/** A number of something. */
export const count = z.int().min(0);

/** A time of Redis or of a producer. */
export const time = z.int().min(0).describe('milliseconds since the epoch');

/** An attempt that ended unknown, and after which others followed. */
export const unknownAttempt = z.object({
  at: time.describe('when it ended'),
  code: z.string(),
  traceId: z.string().exactOptional().describe('of the service, where it answered'),
});

/** Sets the name of a schema in the documents. */
export function named<Schema extends z.ZodType>(id: string, schema: Schema): Schema {
  return schema.meta({ id });
}

/** A value that its reader does not change. */
export type Answer<Value> = Value extends readonly (infer Item)[]
  ? readonly Answer<Item>[]
  : Value extends object
    ? { readonly [Field in keyof Value]: Answer<Value[Field]> }
    : Value;
