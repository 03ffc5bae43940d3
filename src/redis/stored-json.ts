import type * as z from 'zod';

/** The fields and values of a hash, or of an entry of a stream, that Redis answers one after the other. */
export function recordOf(flat: readonly string[] = []): Readonly<Record<string, string>> {
  const record: Record<string, string> = {};
  for (let at = 0; at + 1 < flat.length; at += 2) record[flat[at] ?? ''] = flat[at + 1] ?? '';
  return record;
}

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
