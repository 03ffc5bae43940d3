import type { ServiceConfig } from '../config/config.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import { isTokenValue, type Token } from '../contracts/token.ts';
import { piecesOfSecrets } from './response/mask-text.ts';
import type { ValuePieces } from './response/value-pieces.ts';

type BodySettings = Pick<
  ServiceConfig,
  'chatSenderKeyField' | 'defaultChatSenderKey' | 'defaultSenderKey'
>;

/**
 * The body of a send request (service-api, Send request body): the notice, with `chatSenderKey` under its
 * wire name, and with the default sender keys where it has none. Every other field keeps its position and
 * value, whatever its name.
 *
 * Written field by field: no object is made from the names of the notice, so `__proto__` is a name like any
 * other. If a notice has both `chatSenderKey` and a field of the wire name, `chatSenderKey` wins.
 */
export function requestBody(
  notice: Readonly<Record<string, unknown>>,
  settings: BodySettings,
): string {
  const { chatSenderKeyField: wireName, defaultChatSenderKey, defaultSenderKey } = settings;
  const hasKey = notice['chatSenderKey'] !== undefined;
  if (!hasKey && defaultChatSenderKey === undefined && defaultSenderKey === undefined) {
    // Nothing is renamed or added.
    return JSON.stringify(notice);
  }
  const renames = wireName !== 'chatSenderKey' && hasKey;
  const fields: string[] = [];
  const add = (name: string, value: unknown): void => {
    const text = JSON.stringify(value) as string | undefined;
    if (text !== undefined) fields.push(`${JSON.stringify(name)}:${text}`);
  };

  for (const [name, value] of Object.entries(notice)) {
    if (name === 'chatSenderKey') add(wireName, value);
    else if (!(renames && name === wireName)) add(name, value);
  }
  if (!hasKey && !Object.hasOwn(notice, wireName)) {
    add(wireName, defaultChatSenderKey);
  }
  if (notice['senderKey'] === undefined) add('senderKey', defaultSenderKey);
  return `{${fields.join(',')}}`;
}

const CONTACTS = Buffer.from('"contacts":');
const END = Buffer.from('}');

/** The body of a send request whose contacts are already bytes; they are not parsed. */
export function requestBodyOfBytes(
  frame: Readonly<Record<string, unknown>>,
  contacts: Uint8Array,
  settings: BodySettings,
): Buffer {
  const head = requestBody(frame, settings).slice(0, -1);
  const start = Buffer.from(head === '{' ? head : `${head},`);
  return Buffer.concat([start, CONTACTS, contacts, END]);
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

/**
 * Computes the headers once per token instead of once per call: a token serves thousands of calls. As the bearer value v1
 * encodes it a second time, v2 uses it as issued (service-api, Authentication rules 1 and 2).
 *
 * @returns a function that throws NoticeQueueError TOKEN_INVALID for a token that cannot be put in a header
 */
export function tokenHeadersOf(
  version: ServiceConfig['apiVersion'],
  headers: readonly string[],
  secrets: readonly string[],
): (token: Token) => TokenHeaders {
  let last: { readonly value: string; readonly of: TokenHeaders } | undefined;
  return ({ value }) => {
    if (last?.value === value) return last.of;
    if (!isTokenValue(value)) {
      throw new NoticeQueueError('TOKEN_INVALID', 'The token at hand is not printable ASCII.');
    }
    const encoded = Buffer.from(value).toString('base64');
    const bearer = `Bearer ${version === 'v1' ? encoded : value}`;
    const pieces = piecesOfSecrets([...secrets, value, encoded]);
    last = { value, of: { headers: [...headers, 'Authorization', bearer], secrets: pieces } };
    return last.of;
  };
}
