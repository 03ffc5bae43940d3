import { NoticeQueueError } from '../contracts/errors.ts';
import type { ApiVersion } from './settings.ts';

/** Printable ASCII without blanks: nothing else can stand in a header as it is. */
const TOKEN = /^[\x21-\x7e]{1,8192}$/;

/** Whether a value can be used as a token. */
export function isTokenValue(value: unknown): value is string {
  return typeof value === 'string' && TOKEN.test(value);
}

/**
 * The bearer value of a token: v1 encodes it a second time, v2 uses it as issued (service-api,
 * Authentication rules 1 and 2).
 */
export function bearerValue(token: string, version: ApiVersion): string {
  return version === 'v1' ? Buffer.from(token).toString('base64') : token;
}

/**
 * The Authorization header of a call.
 *
 * @throws NoticeQueueError TOKEN_INVALID when the token could not stand in a header as it is;
 *   nothing is sent then
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
