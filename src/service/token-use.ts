import type { Token } from '../contracts/token.ts';
import { bearerHeader, bearerValue } from './bearer.ts';
import type { ApiVersion } from './settings.ts';

/** What a token comes to in a send call. */
export interface TokenUse {
  /** Names and values in turn. */
  readonly headers: readonly string[];
  /** Never to appear in an answer: the client's secrets, and the token in both forms of its value. */
  readonly secrets: readonly string[];
}

/** Makes it once for each token, and not once for each call: a token serves thousands of them. */
export class TokenUses {
  readonly #version: ApiVersion;
  readonly #headers: readonly string[];
  readonly #secrets: readonly string[];
  #last: { readonly value: string; readonly use: TokenUse } | undefined;

  /**
   * @param headers that every call has; names and values in turn
   * @param secrets of the client
   */
  constructor(version: ApiVersion, headers: readonly string[], secrets: readonly string[]) {
    this.#version = version;
    this.#headers = headers;
    this.#secrets = secrets;
  }

  /** @throws NoticeQueueError TOKEN_INVALID for a token that cannot stand in a header */
  of({ value }: Token): TokenUse {
    if (this.#last?.value !== value) {
      const headers = [...this.#headers, 'Authorization', bearerHeader(value, this.#version)];
      const secrets = [...this.#secrets, value, bearerValue(value, 'v1')];
      this.#last = { value, use: { headers, secrets } };
    }
    return this.#last.use;
  }
}
