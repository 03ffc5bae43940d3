import { z } from 'zod';

/**
 * Fields of an HTML form as a JSON body would hold them: a number where the schema takes one, a list
 * where it wants one. A field that was left empty is left out, and so are those that begin with `_`,
 * which are for the server itself.
 */
export function fromForm(fields: URLSearchParams, schema: z.ZodType): Record<string, unknown> {
  const shape = schema instanceof z.ZodObject ? (schema.shape as z.ZodRawShape) : {};
  const body: Record<string, unknown> = {};
  for (const name of new Set(fields.keys())) {
    const texts = fields.getAll(name).filter((text) => text.trim() !== '');
    if (name.startsWith('_') || texts.length === 0) continue;
    body[name] = asWanted(texts, kindOf(shape[name]));
  }
  return body;
}

function asWanted(texts: readonly string[], kind: string): unknown {
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
  // What is no number stays text, so the others of a union are served, too.
  if (inner instanceof z.ZodUnion && inner.options.some((one) => kindOf(one) === 'number')) {
    return 'number';
  }
  return inner instanceof z.ZodType ? inner.def.type : 'string';
}
