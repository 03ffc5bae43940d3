import { z } from 'zod';

export type { Answer } from '../../contracts/answer.ts';

/*
 * Fields that many answers have. The schemas of this folder describe what the HTTP API and `--json` both show;
 * the documents are made of them, and tests check answers against them. No program loads them to run a command.
 */

/** A number of something. */
export const count = z.int().min(0);

/** A time of Redis or of a producer. */
export const time = z.int().min(0).describe('milliseconds since the epoch');

/** Sets the name of a schema in the documents. */
export function named<Schema extends z.ZodType>(id: string, schema: Schema): Schema {
  return schema.meta({ id });
}
