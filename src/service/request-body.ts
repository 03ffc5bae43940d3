import type { ServiceSettings } from './settings.ts';

type BodySettings = Pick<
  ServiceSettings,
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

/**
 * The body of a send request whose contacts are already bytes; they are not parsed.
 *
 * @param frame the other fields of the notice
 * @param contacts the bytes of a JSON array
 */
export function requestBodyOfBytes(
  frame: Readonly<Record<string, unknown>>,
  contacts: Uint8Array,
  settings: BodySettings,
): Buffer {
  const head = requestBody(frame, settings).slice(0, -1);
  const start = Buffer.from(head === '{' ? head : `${head},`);
  return Buffer.concat([start, CONTACTS, contacts, END]);
}
