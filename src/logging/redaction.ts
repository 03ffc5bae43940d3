/** Fields that could contain a secret or a phone number. */
export const SECRET_NAMES = ['authorization', 'accessKey', 'secretKey', 'contact'] as const;
export const CENSORED = '[redacted]';

const SECRET: ReadonlySet<string> = new Set(SECRET_NAMES);

type Facts = Record<string, unknown>;

/**
 * A log line with these fields and the numbers of a list `contacts` replaced, also one level down.
 *
 * Not by pino's wildcard paths: they cost three times as much as the rest of the line. A line without such
 * a field (which is every line) is returned as it is.
 */
export function redacted(line: Facts): Facts {
  return redactedAt(line, 1);
}

function redactedAt(facts: Facts, levels: number): Facts {
  let copy: Facts | undefined;
  for (const name in facts) {
    const value = facts[name];
    const shown = shownAs(name, value, levels);
    if (shown !== value) {
      copy ??= { ...facts };
      copy[name] = shown;
    }
  }
  return copy ?? facts;
}

function shownAs(name: string, value: unknown, levels: number): unknown {
  if (SECRET.has(name)) return value === undefined ? value : CENSORED;
  if (typeof value !== 'object' || value === null) return value;
  if (name === 'contacts' && Array.isArray(value)) {
    return value.map((contact: unknown) =>
      typeof contact === 'object' && contact !== null && 'contact' in contact
        ? { ...contact, contact: CENSORED }
        : contact,
    );
  }
  return levels > 0 && !Array.isArray(value) ? redactedAt(value as Facts, levels - 1) : value;
}
