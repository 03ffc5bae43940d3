import type { Control } from './control.ts';

/** Controls of API keys and slow callers. */
export const SIGN_IN_CONTROLS: readonly Control[] = [
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
