import { z } from 'zod';

/** What a field is, as far as its text has to be converted. */
export type FieldKind = 'number' | 'boolean' | 'array' | 'text';

/** Converts texts of a form, a query or a command line to what the schema of their field takes; others stay as they are. */
export function fromTexts(texts: readonly string[], kind: FieldKind): unknown {
  const [text = ''] = texts;
  switch (kind) {
    case 'number':
      return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
    case 'boolean':
      if (text === 'on' || text === 'true') return true;
      return text === 'false' ? false : text;
    case 'array':
      return texts;
    case 'text':
      return text;
  }
}

/** A field without what makes it optional or converts its value. */
export function innerField(field: unknown): unknown {
  let inner = field;
  for (;;) {
    if (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault) inner = inner.unwrap();
    else if (inner instanceof z.ZodPipe) inner = inner.def.in;
    else return inner;
  }
}

export function kindOf(field: unknown): FieldKind {
  const inner = innerField(field);
  // A text that is not a number stays text, so the other members of a union work, too.
  if (inner instanceof z.ZodUnion) {
    return inner.options.some((one) => kindOf(one) === 'number') ? 'number' : 'text';
  }
  const type = inner instanceof z.ZodType ? inner.def.type : 'string';
  return type === 'number' || type === 'boolean' || type === 'array' ? type : 'text';
}

/** The fields of an object schema, also of one behind a step before it. */
export function shapeOf(schema: unknown): Readonly<Record<string, z.ZodType>> {
  if (schema instanceof z.ZodPipe) return shapeOf(schema.def.out);
  return schema instanceof z.ZodObject ? schema.shape : {};
}

/** Converts the texts of a query. */
export function fromQuery(query: unknown, schema: z.ZodType): unknown {
  if (typeof query !== 'object' || query === null) return query;
  const shape = shapeOf(schema);
  return Object.fromEntries(
    Object.entries(query).map(([name, value]: [string, unknown]) => {
      const kind = kindOf(shape[name]);
      if (typeof value === 'string') return [name, fromTexts([value], kind)];
      return [name, value];
    }),
  );
}

/**
 * Converts the fields of an HTML form to a JSON body. Empty fields are left out, and so are those that start with `_`,
 * which are for the server itself.
 */
export function fromForm(fields: URLSearchParams, schema: z.ZodType): Record<string, unknown> {
  const shape = shapeOf(schema);
  const body: Record<string, unknown> = {};
  for (const [name, texts] of textsByName(fields)) {
    body[name] = fromTexts(texts, kindOf(shape[name]));
  }
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
