import type { ServiceSettings } from './settings.ts';

type BodySettings = Pick<
  ServiceSettings,
  'chatSenderKeyField' | 'defaultChatSenderKey' | 'defaultSenderKey'
>;

/**
 * The body of a send request (service-api, Send request body): the notice with `chatSenderKey`
 * under its name on the wire and the default sender keys where it names none. Every other field
 * stands where it stood, with the value it had, whatever its name.
 *
 * Written field by field: no object is made from the notice's names, so `__proto__` is a name like
 * any other. Where a notice holds both `chatSenderKey` and a field of the wire name, the first wins.
 */
export function requestBody(
  notice: Readonly<Record<string, unknown>>,
  settings: BodySettings,
): string {
  const wireName = settings.chatSenderKeyField;
  const renames = wireName !== 'chatSenderKey' && notice['chatSenderKey'] !== undefined;
  const fields: string[] = [];
  const add = (name: string, value: unknown): void => {
    const text = JSON.stringify(value) as string | undefined;
    if (text !== undefined) fields.push(`${JSON.stringify(name)}:${text}`);
  };

  for (const [name, value] of Object.entries(notice)) {
    if (name === 'chatSenderKey') add(wireName, value);
    else if (!(renames && name === wireName)) add(name, value);
  }
  if (notice['chatSenderKey'] === undefined && !Object.hasOwn(notice, wireName)) {
    add(wireName, settings.defaultChatSenderKey);
  }
  if (notice['senderKey'] === undefined) add('senderKey', settings.defaultSenderKey);
  return `{${fields.join(',')}}`;
}

const CONTACTS = Buffer.from('"contacts":');
const END = Buffer.from('}');

/**
 * The body of a send request whose contacts are already bytes, which are not looked at.
 *
 * @param frame the notice's other fields
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
