import { createHash } from 'node:crypto';
import { InputError } from '../../../contracts/errors.ts';
import { idempotencyKey as keySchema } from '../../../notices/notice-ref.ts';
import type { Identity } from '../access/identity.ts';

/**
 * The name of a sender's API key; undefined for other callers. It is the scope of the sender's idempotency keys: a
 * key that replaces another one has the same name, and so the same scope.
 */
export function senderOf(who: Identity | undefined): string | undefined {
  return who?.role === 'sender' ? who.name.replace(/^key:/, '') : undefined;
}

/**
 * The idempotency key under which the queue knows a sender's key: those of two API keys never meet, nor those of
 * the library. A key that is no valid one is left as it is: it is refused where notices are checked.
 *
 * @param apiKey name of the API key; undefined for the keys of the library
 */
export function scopedKey(apiKey: string | undefined, key: string): string {
  if (apiKey === undefined || !keySchema.safeParse(key).success) return key;
  return `api-key ${createHash('sha256').update(`${apiKey}\n${key}`).digest('base64url')}`;
}

/** How a request names a notice by its idempotency key. */
export interface KeyAsked {
  readonly idempotencyKey: string;
  readonly apiKey?: string | undefined;
}

/**
 * The idempotency key that a request asks for: a sender's own, else that of the API key that it names, or of the
 * library.
 *
 * @throws InputError REQUEST_INVALID where a sender names another API key
 */
export function keyAsked(
  who: Identity | undefined,
  { idempotencyKey, apiKey }: KeyAsked,
): { readonly idempotencyKey: string } {
  const own = senderOf(who);
  if (own !== undefined && apiKey !== undefined && apiKey !== own) {
    const problem = 'expected the name of your own API key, or nothing';
    throw new InputError('REQUEST_INVALID', [{ field: 'apiKey', problem }]);
  }
  return { idempotencyKey: scopedKey(own ?? apiKey, idempotencyKey) };
}
