import { createHash } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { hashesIn } from './support/dictionary.ts';
import type { Canary } from './support/forms.ts';
import { CanarySearch } from './support/search.ts';

const VALUE = 'canary/of "Kim" & 카나리아 100%';
const NUMBER = '01007391842';
const canaries: readonly Canary[] = [
  { name: 'value', value: VALUE },
  { name: 'number', value: NUMBER, kind: 'number' },
];
const search = new CanarySearch(canaries);
const found = (text: string | Buffer) =>
  search.in([{ place: 'log', bytes: Buffer.from(text as string) }]).map(({ canary }) => canary);

const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('a planted canary is found', () => {
  const between = (text: string) => `xy ${text} z`;
  it.each<readonly [string, string]>([
    ['plain', between(VALUE)],
    ['as JSON', JSON.stringify({ a: VALUE })],
    ['as JSON in JSON', JSON.stringify({ a: JSON.stringify({ b: VALUE }) })],
    [
      'as JSON of ASCII',
      JSON.stringify(VALUE).replaceAll(
        /[\u0080-\uffff]/g,
        (one) => `\\u${one.charCodeAt(0).toString(16)}`,
      ),
    ],
    ['as a part of a URL', `https://example.test/?q=${encodeURIComponent(VALUE)}`],
    ['as a field of a form', new URLSearchParams({ q: VALUE }).toString()],
    ['as HTML', between(VALUE.replaceAll('&', '&amp;').replaceAll('"', '&quot;'))],
    ['as a cell of CSV', `"${VALUE.replaceAll('"', '""')}"`],
    ['in hex', Buffer.from(VALUE).toString('hex')],
    ['in capital hex', Buffer.from(VALUE).toString('hex').toUpperCase()],
    ['in capital letters', VALUE.toUpperCase()],
    ['in base64', base64(VALUE)],
    ['in base64, after one byte', base64(`x${VALUE}yz`)],
    ['in base64, after two bytes', base64(`xy${VALUE}z`)],
    ['in base64url', Buffer.from(`key:${VALUE}`).toString('base64url')],
    ['in double base64', base64(base64(VALUE))],
    ['in double base64, after one byte', base64(`Basic ${base64(`x${VALUE}y`)}`)],
    ['in double base64, after two bytes', base64(`z ${base64(`xy${VALUE}`)}`)],
  ])('%s', (_, text) => {
    expect(found(text)).toContain('value');
    expect(found(text)).not.toContain('number');
  });

  it('in compressed bytes, as lists are stored', () => {
    const list = deflateRawSync(JSON.stringify([{ contact: NUMBER, var1: VALUE }]));
    const hits = search.in([{ place: 'Redis', bytes: Buffer.concat([Buffer.of(1), list]) }]);
    expect(new Set(hits.map(({ canary }) => canary))).toEqual(new Set(['value', 'number']));
  });
});

describe('a planted number is found', () => {
  it.each([
    NUMBER,
    '010-0739-1842',
    '010 - 0739 - 1842',
    '010.0739.1842',
    '(010) 0739 1842',
    '+821007391842',
    '+82 10-0739-1842',
    '0082 (10) 0739 1842',
    'tel%3A010%2D0739%2D1842',
    // In UTF-8 each of these separators has two or three bytes.
    '010\u00a00739\u00a01842',
    '010\u20110739\u20111842',
    '010 \u2013 0739 \u2013 1842',
    '010\u202f0739\u200b1842',
    '010\u30000739\u30001842',
    '010\u22120739\u22121842',
    '010\u00b70739\u00b71842',
    '０１００７３９１８４２',
    '０１０－０７３９－１８４２',
    '010,0739,1842',
    '010:0739;1842',
    String.raw`010\u00a00739\u20111842`,
    String.raw`{\"to\":\"010\\u00a00739\\u00a01842\"}`,
    '010%C2%A00739%E2%80%911842',
    '010%EF%BC%8D0739%EF%BC%8D1842',
    '010&#160;0739&nbsp;1842',
    'BAD01007391842',
    base64(NUMBER),
    base64(`x${NUMBER}`),
    base64(base64(NUMBER)),
    Buffer.from(NUMBER).toString('hex'),
  ])('as %s', (text) => {
    expect(found(`before ${text} after`)).toContain('number');
  });

  it.each(['010******42', '01007391843', '1007391', '739-1842'])('but not in %s', (text) => {
    expect(found(text)).toEqual([]);
  });
});

it('says where it was found, and what stands around it', () => {
  const hits = search.in([
    { place: 'log of a worker', bytes: Buffer.from(`sent to ${NUMBER} today`) },
    { place: 'metrics', bytes: Buffer.from('nothing') },
  ]);
  expect(hits).toContainEqual({
    canary: 'number',
    form: 'plain',
    place: 'log of a worker',
    context: `"sent to ${NUMBER} today"`,
  });
  expect(new Set(hits.map(({ place }) => place))).toEqual(new Set(['log of a worker']));
});

describe('the hash of what was sent is found', () => {
  const notice = { templateCode: 'T', contacts: [{ contact: NUMBER }] };
  const guesses = [{ of: 'digest', needles: ['digest-of-a-list'] }];
  const [, number] = canaries;
  const hash = (text: string, algorithm = 'sha256') => createHash(algorithm).update(text).digest();

  it.each<readonly [string, string | Buffer, string?]>([
    ['SHA-256 in hex', `n-${hash(NUMBER).toString('hex').slice(0, 12)}`],
    ['SHA-1 in hex', hash(NUMBER, 'sha1').toString('hex')],
    ['MD5 in capital hex', hash(NUMBER, 'md5').toString('hex').toUpperCase()],
    ['SHA-256 in base64url', `n-${hash(NUMBER).toString('base64url').slice(0, 8)}.x`],
    ['of the international form', hash('+821007391842').toString('hex').slice(0, 16)],
    ['of the contact', hash(`{"contact":"${NUMBER}"}`).toString('base64')],
    ['as bytes', hash(NUMBER)],
    ['of the notice', hash(JSON.stringify(notice)).toString('hex'), 'notice 0'],
    ['a further guess', 'list:digest-of-a-list', 'digest'],
    ['but of no other number', hash('01007391843').toString('hex'), ''],
  ])('%s', (_, written, canary = 'number') => {
    const bytes = Buffer.from(written as string);
    const hits = hashesIn([{ place: 'ids', bytes }], number ? [number] : [], [notice], guesses);
    expect(hits.map((hit) => hit.canary)).toEqual(canary === '' ? [] : [canary]);
  });
});
