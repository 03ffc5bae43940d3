import { NoticeQueueError } from '../contracts/errors.ts';
import { isTokenValue, type Token } from '../contracts/token.ts';
import { piecesOfSecrets } from './response/mask-text.ts';
import type { ValuePieces } from './response/value-pieces.ts';
import type { ApiVersion } from './settings.ts';

/**
 * The bearer value of a token: v1 encodes it a second time, v2 uses it as issued (service-api,
 * Authentication rules 1 and 2).
 */
function bearerValue(token: string, version: ApiVersion): string {
  return version === 'v1' ? Buffer.from(token).toString('base64') : token;
}

/**
 * The Authorization header of a call.
 *
 * @throws NoticeQueueError TOKEN_INVALID when the token cannot be put in a header; nothing is sent then
 */
export function bearerHeader(token: string, version: ApiVersion): string {
  if (!isTokenValue(token)) {
    throw new NoticeQueueError('TOKEN_INVALID', 'The token at hand is not printable ASCII.');
  }
  return `Bearer ${bearerValue(token, version)}`;
}

/** The Authorization header of an issuance (service-api, Authentication step 1). */
export function basicHeader(accessKey: string, secretKey: string): string {
  return `Basic ${Buffer.from(`${accessKey}:${secretKey}`).toString('base64')}`;
}

/** What a send request needs of a token. */
export interface TokenHeaders {
  /** All headers of the request: names and values in turn. */
  readonly headers: readonly string[];
  /** Never to appear in an answer: the client's secrets, and the token in both forms of its value. */
  readonly secrets: ValuePieces;
}

/** Computes the headers once per token instead of once per call: a token serves thousands of calls. */
export class TokenHeadersCache {
  readonly #version: ApiVersion;
  readonly #headers: readonly string[];
  readonly #secrets: readonly string[];
  #last: { readonly value: string; readonly of: TokenHeaders } | undefined;

  /**
   * @param headers of every call: names and values in turn
   * @param secrets of the client
   */
  constructor(version: ApiVersion, headers: readonly string[], secrets: readonly string[]) {
    this.#version = version;
    this.#headers = headers;
    this.#secrets = secrets;
  }

  /** @throws NoticeQueueError TOKEN_INVALID for a token that cannot be put in a header */
  of({ value }: Token): TokenHeaders {
    if (this.#last?.value !== value) {
      const headers = [...this.#headers, 'Authorization', bearerHeader(value, this.#version)];
      const secrets = piecesOfSecrets([...this.#secrets, value, bearerValue(value, 'v1')]);
      this.#last = { value, of: { headers, secrets } };
    }
    return this.#last.of;
  }
}
