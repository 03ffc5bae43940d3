import { expect, it, test } from 'vitest';
import { html } from '../../../../src/ops/web/http/html.ts';
import { localPath } from '../../../../src/ops/web/http/route.ts';

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
