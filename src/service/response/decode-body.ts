import { isUtf8 } from 'node:buffer';
import { brotliDecompressSync, unzipSync } from 'node:zlib';
import { headerOf, type AnswerHeaders } from '../http/exchange.ts';

/** The text of a body; `unreadable` names the header that it cannot be read by. */
type DecodedBody =
  { readonly text: string } | { readonly unreadable: string } | { readonly tooLong: true };

const DECOMPRESS = new Map([
  ['gzip', unzipSync],
  ['x-gzip', unzipSync],
  ['deflate', unzipSync],
  ['br', brotliDecompressSync],
]);
/** Names that servers have for the charset of Korean Windows. */
const KOREAN = /^(?:x-windows-|windows-|ms_?|cp_?|ibm-?)949$|^uhc$/;

/**
 * The text of a body that is not JSON in UTF-8: decompressed, then in the charset that the answer names, then in UTF-8.
 * Headers that name what the body is not, or nothing, are passed over.
 *
 * @param limit most bytes of the decompressed body
 */
export function decodeBody(
  bytes: Buffer,
  headers: AnswerHeaders | undefined,
  limit: () => number,
): DecodedBody {
  const encoding = (headerOf(headers, 'content-encoding') ?? '').trim().toLowerCase();
  const decompress = DECOMPRESS.get(encoding);
  if (decompress !== undefined) {
    try {
      return decodeText(decompress(bytes, { maxOutputLength: limit() }), headers);
    } catch (error) {
      if (error instanceof RangeError) return { tooLong: true };
    }
  }
  const found = decodeText(bytes, headers);
  if ('text' in found || encoding === '' || encoding === 'identity') return found;
  return { unreadable: `content-encoding: ${encoding}` };
}

function decodeText(bytes: Buffer, headers: AnswerHeaders | undefined): DecodedBody {
  const type = headerOf(headers, 'content-type') ?? '';
  const charset = /;\s*charset\s*=\s*["']?([^\s;"']+)/i.exec(type)?.[1]?.toLowerCase() ?? 'utf-8';
  try {
    const label = KOREAN.test(charset) ? 'euc-kr' : charset;
    return { text: new TextDecoder(label, { fatal: true }).decode(bytes) };
  } catch {
    return isUtf8(bytes)
      ? { text: bytes.toString() }
      : { unreadable: `content-type: charset=${charset}` };
  }
}
