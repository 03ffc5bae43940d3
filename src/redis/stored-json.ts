import type * as z from 'zod';

/** Reads JSON that Redis holds. @returns undefined for none, and for what cannot be read: it may be anything */
export function storedJson<Schema extends z.ZodType>(
  schema: Schema,
  text: string | null | undefined,
): z.output<Schema> | undefined {
  if (text === null || text === undefined || text === '') return undefined;
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
