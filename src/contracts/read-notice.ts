import { InputError, type InputIssue } from './errors.ts';
import { whyNotJson, whyNotText } from './json-value.ts';
import { noticeSchema, type CheckedNotice } from './notice.ts';
import { fieldPath, MAX_ISSUES, parseInput, shownName } from './parse-input.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Checks a notice and copies it, so that later changes by the caller have no effect.
 *
 * The copy is made from the caller's fields and not from the parsed ones, because unknown fields must
 * stay unchanged: parsing reorders fields and drops one named `__proto__`.
 *
 * @param place prefix of field names in errors, such as `notices[4]`; empty for a single notice
 * @throws InputError NOTICE_INVALID that names every invalid field, without values
 */
export function readNotice(input: unknown, place = ''): CheckedNotice {
  const own = ownFields(input);
  const notice = isFields(own) ? withOwnContacts(own) : own;
  const { scheduleType } = parseInput(noticeSchema, notice, 'NOTICE_INVALID', place, 'notice');

  const issues: InputIssue[] = [];
  const path = place === '' ? [] : [place];
  const { contacts, ...frame } = notice as Fields & { readonly contacts: readonly Fields[] };
  const copy = {
    ...copyFields({ ...frame, scheduleType }, path, issues),
    contacts: contacts.map((contact, index) =>
      copyFields(contact, [...path, 'contacts', index], issues),
    ),
  };
  if (issues.length > 0) throw new InputError('NOTICE_INVALID', issues.slice(0, MAX_ISSUES));
  return copy as unknown as CheckedNotice;
}

function withOwnContacts(notice: Fields): unknown {
  const contacts = notice['contacts'];
  return Array.isArray(contacts) ? { ...notice, contacts: contacts.map(ownFields) } : notice;
}

/** A copy of an object's own fields, each read once; other values unchanged. */
function ownFields(value: unknown): unknown {
  return isFields(value) ? { ...value } : value;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Copies the fields deeply; a value that is not valid JSON becomes an issue. */
function copyFields(fields: Fields, path: readonly PropertyKey[], issues: InputIssue[]): Fields {
  let nested = false;
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const problem = whyNotText(name) ?? whyNotJson(value);
    if (problem !== undefined)
      issues.push({ field: fieldPath([...path, shownName(name)]), problem });
    else if (typeof value === 'object') nested = true;
  }
  if (!nested || issues.length > 0) return fields;
  return JSON.parse(JSON.stringify(fields)) as Fields;
}
