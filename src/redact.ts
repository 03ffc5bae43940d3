/** Names of fields that are never written, wherever they stand. */
const NEVER_WRITTEN: ReadonlySet<string> = new Set([
  'authorization',
  'accessKey',
  'secretKey',
  'contact',
]);

/** Deeper than anything that is logged; what lies below is dropped. */
const MAX_DEPTH = 5;

const REDACTED = '[redacted]';

type Facts = Readonly<Record<string, unknown>>;

/**
 * The facts as they may be written: the value of each field that is never written is replaced. Where
 * there is none, which is the rule, the facts are answered as they are. A walk of our own, because a
 * line is written for each attempt and pino's redaction costs three times the line.
 */
export function redact(facts: Facts): Facts {
  return redactFields(facts, 1);
}

function redactFields(facts: Facts, depth: number): Facts {
  let copy: Record<string, unknown> | undefined;
  for (const name in facts) {
    const value = facts[name];
    const written = NEVER_WRITTEN.has(name) ? REDACTED : redactValue(value, depth);
    if (written === value) continue;
    copy ??= { ...facts };
    copy[name] = written;
  }
  return copy ?? facts;
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return REDACTED;
  if (!Array.isArray(value)) return redactFields(value as Facts, depth + 1);
  const items: readonly unknown[] = value;
  const written = items.map((item) => redactValue(item, depth + 1));
  return written.every((item, index) => item === items[index]) ? items : written;
}
