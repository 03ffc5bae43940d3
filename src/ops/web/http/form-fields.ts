import { z } from 'zod';

/**
 * Converts the fields of an HTML form to a JSON body: numbers and lists where the schema has them.
 * Empty fields are left out, and so are those that start with `_`, which are for the server itself.
 */
export function fromForm(fields: URLSearchParams, schema: z.ZodType): Record<string, unknown> {
  const shape = schema instanceof z.ZodObject ? (schema.shape as z.ZodRawShape) : {};
  const body: Record<string, unknown> = {};
  for (const [name, texts] of textsByName(fields)) body[name] = convert(texts, kindOf(shape[name]));
  return body;
}

/** In one pass: `getAll` for each name would take seconds for a form of thousands of names. */
function textsByName(fields: URLSearchParams): ReadonlyMap<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [name, text] of fields) {
    if (name.startsWith('_') || text.trim() === '') continue;
    const texts = found.get(name);
    if (texts === undefined) found.set(name, [text]);
    else texts.push(text);
  }
  return found;
}

function convert(texts: readonly string[], kind: string): unknown {
  const [text = ''] = texts;
  switch (kind) {
    case 'number':
      return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
    case 'boolean':
      return text === 'on' || text === 'true';
    case 'array':
      return texts;
    default:
      return text;
  }
}

function kindOf(field: unknown): string {
  let inner = field;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault) inner = inner.unwrap();
  // A text that is not a number stays text, so the other members of a union work, too.
  if (inner instanceof z.ZodUnion && inner.options.some((one) => kindOf(one) === 'number')) {
    return 'number';
  }
  return inner instanceof z.ZodType ? inner.def.type : 'string';
}
