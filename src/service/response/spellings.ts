const ENTITY = /&#(?:x([0-9a-f]{1,6})|([0-9]{1,7}));/gi;
const UNICODE_ESCAPE = /(?:\\u|%u|u\+)(?:([0-9a-f]{4})|\{([0-9a-f]{1,6})\})/gi;
/** Bytes one by one: of a URL, of a string of many languages, of a mail. */
const BYTE_RUN = /(?:(?:%|\\x|=)[0-9a-f]{2})+/gi;
const BYTE_SIGNS = /%|\\x|=/gi;
const HEX_RUN = /(?:[0-9a-f]{2}){3,}/gi;
const BASE64_RUN = /[A-Za-z0-9+/_-]{4,}={0,2}/g;
/** Signs of base64 that may also be between it and another word. */
const BETWEEN = /[+/_-]/;
/** What can be inside an encoding inside an encoding, and no deeper. */
const MAX_DEPTH = 3;
/** Spellings that are read at most. */
const MAX_SPELLINGS = 64;

/**
 * What a text contains in other spellings: URL-encoded, with escapes of JSON, HTML or of bytes, in hexadecimal, in
 * base64, and these in one another; bytes in UTF-8 or EUC-KR. Without the text itself.
 */
export function spellingsOf(text: string): ReadonlySet<string> {
  const found = new Set([text]);
  let last = [text];
  for (let depth = 0; depth < MAX_DEPTH && found.size < MAX_SPELLINGS; depth += 1) {
    last = last.flatMap(decodings).filter((one) => !found.has(one));
    for (const one of last) found.add(one);
  }
  found.delete(text);
  return found;
}

function decodings(text: string): string[] {
  const unescaped = text
    .replace(BYTE_RUN, textOfRun)
    .replace(UNICODE_ESCAPE, (whole, unit: string | undefined, point: string | undefined) =>
      unit === undefined
        ? characterOf(parseInt(point ?? '', 16), whole)
        : String.fromCharCode(parseInt(unit, 16)),
    )
    .replace(ENTITY, (whole, hex: string | undefined, decimal: string | undefined) =>
      characterOf(hex === undefined ? Number(decimal) : parseInt(hex, 16), whole),
    );
  const base64 = [...text.matchAll(BASE64_RUN)].flatMap(([run]) => {
    const words = run.split(BETWEEN);
    return words.length > 1 ? [run, ...words] : [run];
  });
  const runs = [
    ...[...text.matchAll(HEX_RUN)].map(([run]) => textOf(Buffer.from(run, 'hex'))),
    ...base64.map((run) => textOf(Buffer.from(run, 'base64'))),
  ];
  return [unescaped, ...runs.filter((run) => run !== undefined)];
}

/** The character of a code point. @param whole what it is written as, for a number that is none */
const characterOf = (point: number, whole: string): string =>
  point <= 0x10ffff ? String.fromCodePoint(point) : whole;

const UTF8 = new TextDecoder('utf-8', { fatal: true });
const EUC_KR = new TextDecoder('euc-kr', { fatal: true });

/** Undefined where the bytes are not text: a word that only looks encoded. */
function textOf(bytes: Buffer, charset = UTF8): string | undefined {
  try {
    const text = charset.decode(bytes);
    return /\p{Cc}/u.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** What a run of single bytes says; such runs are no words, so EUC-KR is tried, too. */
function textOfRun(run: string): string {
  const bytes = Buffer.from(run.replace(BYTE_SIGNS, ''), 'hex');
  return textOf(bytes) ?? textOf(bytes, EUC_KR) ?? run;
}
