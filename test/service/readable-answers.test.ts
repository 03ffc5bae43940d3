import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { NoticeQueueError } from '../../src/contracts/errors.ts';
import { decideOutcome } from '../../src/service/outcome-table.ts';
import { NOTICE, openClient, tokensOf } from './support/client.ts';
import { httpServer } from './support/servers.ts';

type Headers = Readonly<Record<string, string>>;

const TYPE = 'application/json';
/** Headers that say something else about a body than what it is: JSON in UTF-8. */
const MISLEADING: readonly Headers[] = [
  ...['MS949', 'cp949', 'UTF_8', 'none', "'utf-8'", '"utf-8"', 'klingon', 'utf-16', ''].map(
    (charset) => ({ 'content-type': `${TYPE}; charset=${charset}` }),
  ),
  ...['UTF-8', 'none', 'identity', 'gzip', 'br', 'zstd', ''].map((encoding) => ({
    'content-type': TYPE,
    'content-encoding': encoding,
  })),
];

/** A service with this answer to every request. */
const answering = (status: number, headers: Headers, body: string | Uint8Array) =>
  httpServer((response) => response.writeHead(status, headers).end(body));

async function sendTo(status: number, headers: Headers, body: string | Uint8Array) {
  const client = openClient((await answering(status, headers, body)).url);
  return client.send(NOTICE, tokensOf(), { deadlineMs: 5_000 });
}

async function issueFrom(headers: Headers, body: string | Uint8Array, status = 200) {
  const client = openClient((await answering(status, headers, body)).url);
  return client.issueToken().catch((error: unknown) => error as NoticeQueueError);
}

const TOKEN = JSON.stringify({ data: { token: 'abc' } });

describe('JSON in UTF-8 is read, whatever the headers say', () => {
  it.each(MISLEADING)('%o', async (headers) => {
    expect(await issueFrom(headers, TOKEN)).toMatchObject({ value: 'abc' });
    const refusal = JSON.stringify({ success: false, code: 'TEMPLATE_NOT_APPROVED' });
    const answer = await sendTo(200, headers, refusal);
    expect(decideOutcome(answer)).toEqual({ kind: 'rejected', code: 'TEMPLATE_NOT_APPROVED' });
    const bad = await sendTo(400, headers, JSON.stringify({ code: 'BAD', message: '없음' }));
    expect(bad).toMatchObject({ status: 400, code: 'BAD', message: '없음' });
  });
});

it.each(['EUC-KR', 'euc-kr', 'MS949', 'cp949', 'ms_949', 'x-windows-949', 'KS_C_5601-1987', 'uhc'])(
  'JSON in Korean of %s is read',
  async (charset) => {
    // 없음
    const [start, end] = [Buffer.from('{"code":"BAD","message":"'), Buffer.from('"}')];
    const body = Buffer.concat([start, Buffer.from([0xbe, 0xf8, 0xc0, 0xbd]), end]);
    const answer = await sendTo(400, { 'content-type': `${TYPE}; charset=${charset}` }, body);
    expect(answer).toMatchObject({ body: 'json', code: 'BAD', message: '없음' });
  },
);

describe('no encoding is asked for, and one that comes all the same', () => {
  const compressed: readonly [string, Buffer][] = [
    ['gzip', gzipSync(TOKEN)],
    ['x-gzip', gzipSync(TOKEN)],
    ['GZIP', gzipSync(TOKEN)],
    ['deflate', deflateSync(TOKEN)],
    ['br', brotliCompressSync(TOKEN)],
  ];

  it.each(compressed)('%s is decoded', async (encoding, body) => {
    expect(await issueFrom({ 'content-encoding': encoding }, body)).toMatchObject({ value: 'abc' });
    const answer = await sendTo(200, { 'content-encoding': encoding }, body);
    expect(decideOutcome(answer)).toEqual({ kind: 'accepted', confirmed: true });
  });

  it('is decoded up to 64 kB', async () => {
    const bomb = gzipSync(Buffer.alloc(60_000_000, ' '));
    const answer = await sendTo(200, { 'content-encoding': 'gzip' }, bomb);
    expect(answer).toMatchObject({ body: 'oversized' });
    expect(await issueFrom({ 'content-encoding': 'gzip' }, bomb)).toMatchObject({
      code: 'TOKEN_INVALID',
    });
  });

  it.each<[string, Headers, Uint8Array, string]>([
    ['zstd', { 'content-encoding': 'zstd' }, Buffer.from('(\xb5/\xfd0', 'latin1'), 'zstd'],
    ['gzip that is none', { 'content-encoding': 'gzip' }, Buffer.from([0x1f, 0x8b, 0xff]), 'gzip'],
    [
      'a charset nobody knows',
      { 'content-type': 'application/json; charset=klingon' },
      Buffer.from([0x7b, 0xff, 0xfe]),
      'klingon',
    ],
  ])('%s is named where it cannot be read', async (_name, headers, body, named) => {
    const error = await issueFrom(headers, body);
    expect(error).toMatchObject({ code: 'TOKEN_INVALID' });
    const [header] = Object.keys(headers);
    expect((error as Error).message.toLowerCase()).toContain(`${header}: `);
    expect((error as Error).message).toContain(named);
    const answer = await sendTo(400, headers, body);
    expect(answer).toMatchObject({ body: 'broken' });
    expect(answer.message?.toLowerCase()).toContain(`${header}: `);
    expect(answer.message).toContain(named);
  });
});
