import { createHash } from 'node:crypto';
import type { CheckedNotice } from '../contracts/notice.ts';

/** Length of a fingerprint, in characters of base64url: 48 bits. */
const LENGTH = 8;

/**
 * A short hash of what a notice says, by which an idempotency key that is used again for something
 * else is noticed. The order of fields does not count: a caller that reads the notice anew from its
 * database may get them in another one. The order of contacts does.
 */
export function fingerprint({ contacts, ...frame }: CheckedNotice): string {
  const hash = createHash('sha256').update(canonical(frame));
  for (const contact of contacts) hash.update(canonical(contact));
  return hash.digest('base64url').slice(0, LENGTH);
}

/** JSON with the fields of every object in one order. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(',')}}`;
}
