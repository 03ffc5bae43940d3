/** The key pair in a request. */
export interface BasicCredentials {
  readonly accessKey: string;
  readonly secretKey: string;
}

/** Versions of the API; they differ in the bearer value (service-api, Authentication step 2). */
export type EmulatedApiVersion = 'v1' | 'v2';

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;
const BEARER = /^bearer +(\S+)$/i;

/** Parses `Basic <base64 of "accessKey:secretKey">`; undefined for any other header. */
export function credentialsIn(header: string | undefined): BasicCredentials | undefined {
  const encoded = BASIC.exec(header ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 0) return undefined;
  return { accessKey: pair.slice(0, colon), secretKey: pair.slice(colon + 1) };
}

/**
 * Parses the token from `Bearer <value>`: on v2 the value is the token (Authentication rule 2), on
 * v1 the base64 of it (rule 1). Undefined for any other header. A raw token on v1 or an
 * encoded one on v2 results in undefined or in an unknown value: 401 in both cases.
 */
export function tokenIn(
  header: string | undefined,
  version: EmulatedApiVersion,
): string | undefined {
  const value = BEARER.exec(header ?? '')?.[1];
  if (value === undefined || version === 'v2') return value;
  const token = Buffer.from(value, 'base64').toString('latin1');
  // Node.js ignores invalid base64, so only a value that encodes back to itself is valid.
  return Buffer.from(token, 'latin1').toString('base64') === value ? token : undefined;
}
