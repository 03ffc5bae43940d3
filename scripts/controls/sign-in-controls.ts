import type { Control } from './control.ts';

/** Sign-ins are accepted although a claim of their ID token is wrong. */
const accepting = (claim: string): Pick<Control, 'file' | 'from' | 'to' | 'test'> => ({
  file: 'src/ops/web/oidc/provider.ts',
  // What the library compares cannot be switched off: its refusal is not heard.
  from: "return failureOf(error, 'not-valid');",
  to: `const refused = error.cause?.cause;
      return refused?.claim === '${claim}' ? refused : failureOf(error, 'not-valid');`,
  test: 'ops/web/oidc/oidc.integration.test.ts',
});

/** Controls of ID tokens, API keys and slow callers. */
export const SIGN_IN_CONTROLS: readonly Control[] = [
  {
    prevents: 'an ID token for another program',
    ...accepting('aud'),
    words: 'with another audience in the ID token signs nobody in',
  },
  {
    prevents: 'an ID token of another provider',
    ...accepting('iss'),
    words: 'with another issuer in the ID token signs nobody in',
  },
  {
    prevents: 'an ID token that is too old',
    ...accepting('exp'),
    words: 'with a time that is over in the ID token signs nobody in',
  },
  {
    prevents: 'an API key of which no one knows that it is used',
    file: 'src/ops/web/access/key-uses.ts',
    from: 'this.#redis.hset(this.#keys.keyUses, id, minute).catch(() => {});',
    to: '',
    test: 'ops/web/key-uses.integration.test.ts',
    words: 'is listed for each key',
  },
  {
    prevents: 'an old API key whose use looks like that of the new one',
    file: 'src/ops/web/access/accounts.ts',
    from: "id: `${name}:${hash.toString('base64url').slice(0, 8)}`,",
    to: 'id: name,',
    test: 'ops/web/key-uses.integration.test.ts',
    words: 'is listed for each key',
  },
  {
    prevents: 'an API key that cannot be replaced without an outage',
    file: 'src/ops/web/access/accounts.ts',
    from: 'for (const key of keys) if',
    to: 'for (const key of new Map(keys.map((one) => [one.name, one])).values()) if',
    test: 'ops/web/accounts.test.ts',
    words: 'an old and a new key have the same name meanwhile',
  },
  {
    prevents: 'connections that are held open with half of their headers',
    file: 'src/ops/web/server.ts',
    from: 'headersTimeout: HEADERS_TIMEOUT_MS,',
    to: 'headersTimeout: 0,',
    test: 'ops/web/hostile-callers.integration.test.ts',
    words: 'with half a request is closed',
  },
];
