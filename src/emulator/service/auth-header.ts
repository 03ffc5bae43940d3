/** A key pair as a caller sent it. */
export interface BasicCredentials {
  readonly accessKey: string;
  readonly secretKey: string;
}

/** Versions of the API; they differ in the bearer value (service-api, Authentication step 2). */
export type EmulatedApiVersion = 'v1' | 'v2';

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;
const BEARER = /^bearer +(\S+)$/i;

/** Reads `Basic <base64 of "accessKey:secretKey">`; undefined when the header is anything else. */
export function credentialsIn(header: string | undefined): BasicCredentials | undefined {
  const encoded = BASIC.exec(header ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 0) return undefined;
  return { accessKey: pair.slice(0, colon), secretKey: pair.slice(colon + 1) };
}

/**
 * Reads the token out of `Bearer <value>`: on v2 the value is the token (Authentication rule 2), on
 * v1 the base64 of it (rule 1). Undefined when the header is anything else. A raw token on v1 or an
 * encoded one on v2 reads as undefined or as a value that was never issued: 401 either way.
 */
export function tokenIn(
  header: string | undefined,
  version: EmulatedApiVersion,
): string | undefined {
  const value = BEARER.exec(header ?? '')?.[1];
  if (value === undefined || version === 'v2') return value;
  const token = Buffer.from(value, 'base64').toString('latin1');
  // Node skips what is not base64, so only a value that encodes back to itself was encoded.
  return Buffer.from(token, 'latin1').toString('base64') === value ? token : undefined;
}
