import { expect, it, test } from 'vitest';
import { z } from 'zod';
import { maskContact, maskNumber } from '../../../../src/ops/mask-contact.ts';
import { fromForm } from '../../../../src/ops/operations/fields.ts';
import { html } from '../../../../src/ops/web/http/html.ts';
import { localPath } from '../../../../src/ops/web/http/route.ts';
import { showJob } from '../../../../src/ops/web/board/show-job.ts';

it('escapes everything that is put into a template', () => {
  const evil = `"><img src=x onerror='alert(1)'>&\``;
  const { text } = html`<p title="${evil}">${evil}${[evil, html`<b>${evil}</b>`]}</p>`;
  expect(text.match(/</g)).toHaveLength(4);
  expect(text).not.toContain('<img');
  expect(text).not.toContain(`'`);
  expect(text).toContain('&quot;&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;&amp;&#96;');
});

it('writes nothing for what is not there, and numbers as they are', () => {
  expect(html`<i>${undefined}${null}${false}${0}${[]}</i>`.text).toBe('<i>0</i>');
});

test.each([
  ['/batches?offset=50', '/batches?offset=50'],
  ['/', '/'],
  ['', '/'],
  ['batches', '/'],
  ['//evil.example.test', '/'],
  ['/\\evil.example.test', '/'],
  ['/\t/evil.example.test', '/'],
  ['https://evil.example.test/', '/'],
  ['javascript:alert(1)', '/'],
  ['/a/../../b', '/b'],
])('leads to %j and so to %j', (next, path) => {
  expect(localPath(next)).toBe(path);
});

it('a form becomes what JSON would have been', () => {
  const schema = z.strictObject({
    limit: z.int().optional(),
    why: z.string(),
    ids: z.array(z.string()).optional(),
    all: z.boolean().default(false),
    pace: z.union([z.int(), z.enum(['off'])]).optional(),
  });
  const fields = new URLSearchParams(
    'limit=12&why=because+12&ids=a&ids=b&all=on&code=&_csrf=x&_next=/y',
  );
  const body = fromForm(fields, schema);
  expect(body).toEqual({ limit: 12, why: 'because 12', ids: ['a', 'b'], all: true });
  expect(schema.safeParse(body).success).toBe(true);
  expect(fromForm(new URLSearchParams('limit=many&other=1'), schema)).toEqual({
    limit: 'many',
    other: '1',
  });
  expect(fromForm(new URLSearchParams('pace=50'), schema)).toEqual({ pace: 50 });
  expect(fromForm(new URLSearchParams('pace=off'), schema)).toEqual({ pace: 'off' });
});

test.each([
  ['01012345678', '010******78'],
  ['0212345678', '021*****78'],
  ['1234567', '123****'],
  ['12345', '123**'],
  ['1234', '****'],
  ['', ''],
])('of the number %s a person sees %s', (number, shown) => {
  expect(maskNumber(number)).toBe(shown);
});

it('of a contact a person sees no value, of a job no contact', () => {
  const contact = { contact: '01012345678', var1: 'Kim', extra: { city: 'Seoul' }, list: [1] };
  expect(maskContact(contact)).toEqual({
    contact: '010******78',
    var1: 'text of 3 characters',
    extra: 'object',
    list: 'list of 1',
  });
  const job = {
    v: 1,
    notice: {
      templateCode: 'T',
      senderKey: '0299998888',
      contacts: Array.from({ length: 5 }, () => contact),
      memo: '01012345678',
    },
    expiresAt: 12,
  };
  const shown = showJob(job);
  expect(shown).toMatchObject({
    v: 1,
    notice: { templateCode: 'T', senderKey: 'text of 10 characters' },
    expiresAt: 12,
  });
  expect(JSON.stringify(shown)).not.toMatch(/12345678|0299998888|Kim|Seoul/);
  for (const other of ['01012345678', ['01012345678'], { contact: '01012345678' }, 1012345678]) {
    expect(JSON.stringify(showJob(other))).not.toContain('12345678');
  }
});
