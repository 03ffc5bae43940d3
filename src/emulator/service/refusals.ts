import type { TokenEnd } from './tokens.ts';

/**
 * Every error code of the emulator. The first three are documented (service-api, Errors); the next four
 * were seen at real services of this kind; the others are the emulator's own, because the documentation
 * of the service lists none.
 */
export const REFUSALS = {
  INVALID_ACCESS_KEY: {
    status: 401,
    message: 'The access key does not exist, the secret is wrong, or the token is not valid.',
  },
  ACCESS_KEY_NOT_APPROVED: { status: 403, message: 'The app is pending approval.' },
  IP_NOT_ALLOWED: { status: 403, message: 'The address of the caller is not in the allowlist.' },

  TOKEN_EXPIRED: { status: 401, message: 'The token has expired.' },
  TOKEN_MISMATCH: { status: 401, message: 'Another issuance replaced the token.' },
  TOKEN_RECORD_NOT_FOUND: { status: 401, message: 'No such token is on record.' },
  INVALID_BEARER_FORMAT: { status: 401, message: 'The bearer value is not of the right form.' },

  UNEXPECTED_BODY: { status: 400, message: 'A token request has no body.' },
  INVALID_CONTENT_TYPE: { status: 400, message: 'The content type must be application/json.' },
  INVALID_JSON: { status: 400, message: 'The body is not JSON.' },
  INVALID_BODY: { status: 400, message: 'The body must be a JSON object.' },
  INVALID_FIELD: { status: 400, message: 'A field must be a text that is not empty.' },
  INVALID_CONTACTS: { status: 400, message: 'contacts must be an array.' },
  INVALID_CONTACT: { status: 400, message: 'A contact must be a phone number, digits only.' },
  INVALID_VARIABLE: { status: 400, message: 'The value of a variable must be a text.' },
  TEMPLATE_NOT_FOUND: { status: 404, message: 'No such template.' },
  EMPTY_CONTACTS: { status: 422, message: 'contacts is empty.' },
  TOO_MANY_CONTACTS: { status: 422, message: 'contacts has too many entries.' },
  NOT_FOUND: { status: 404, message: 'No such path.' },
  METHOD_NOT_ALLOWED: { status: 405, message: 'This path takes another method.' },
  PAYLOAD_TOO_LARGE: { status: 413, message: 'The body is too large.' },

  INVALID_REQUEST: { status: 400, message: 'The control request is not valid.' },
  HOST_NOT_ALLOWED: {
    status: 403,
    message: 'The control API answers under an IP address or localhost.',
  },
  CONTROL_CLOSED: {
    status: 403,
    message: 'Beyond loopback the control API answers only where the option controlKey is set.',
  },
  CONTROL_KEY_REQUIRED: {
    status: 401,
    message: 'The header X-Control-Key does not hold the control key.',
  },
  EMULATOR_FAILED: { status: 500, message: 'The emulator itself failed; please report it.' },
} as const;

export type RefusalCode = keyof typeof REFUSALS;

/**
 * The error codes for an invalid bearer value.
 * - `documented`: INVALID_ACCESS_KEY, always (service-api, Errors, row one);
 * - `field`: the codes of real services of this kind.
 */
export const DEAD_TOKEN_CODES = ['documented', 'field'] as const;
export type DeadTokenCodes = (typeof DEAD_TOKEN_CODES)[number];

const FIELD_CODES: Readonly<Record<TokenEnd | 'malformed', RefusalCode>> = {
  expired: 'TOKEN_EXPIRED',
  replaced: 'TOKEN_MISMATCH',
  revoked: 'TOKEN_RECORD_NOT_FOUND',
  unknown: 'TOKEN_RECORD_NOT_FOUND',
  malformed: 'INVALID_BEARER_FORMAT',
};

export function deadTokenCode(codes: DeadTokenCodes, why: TokenEnd | 'malformed'): RefusalCode {
  return codes === 'documented' ? 'INVALID_ACCESS_KEY' : FIELD_CODES[why];
}
