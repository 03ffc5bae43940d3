import { checkedFault, type Fault } from './fault.ts';

/** A partially parsed fault. */
interface Draft {
  readonly fields: Record<string, unknown>;
  readonly headers: Record<string, string>;
}

/** Adds the value of a word to the draft. */
type FaultTextReader = (draft: Draft, word: string, value: string) => void;

const NUMBER = /^[0-9]+(\.[0-9]+)?$/;

const number =
  (field: keyof Fault): FaultTextReader =>
  ({ fields }, word, value) => {
    if (!NUMBER.test(value))
      throw new TypeError(`fault ${word}: expected a number, got "${value}"`);
    fields[field] = Number(value);
  };

const text =
  (field: keyof Fault): FaultTextReader =>
  ({ fields }, _word, value) => {
    fields[field] = value;
  };

const flag =
  (field: keyof Fault): FaultTextReader =>
  ({ fields }, word, value) => {
    if (value !== '') throw new TypeError(`fault ${word}: takes no value`);
    fields[field] = true;
  };

const NOT_HTTP = '\u0000\u0001 this is not HTTP\r\n\r\n';

/** The meaning of each word. */
const READERS: ReadonlyMap<string, FaultTextReader> = new Map(
  Object.entries<FaultTextReader>({
    times: number('times'),
    rate: number('rate'),
    seed: number('seed'),
    containing: text('containing'),
    latency: number('latencyMs'),
    reset: text('reset'),
    hang: text('hang'),
    garbage: ({ fields }, _word, value) => {
      fields['garbage'] = value === '' ? NOT_HTTP : value;
    },
    status: number('status'),
    code: text('code'),
    text: text('bodyText'),
    html: ({ fields, headers }, _word, value) => {
      fields['bodyText'] = value;
      headers['content-type'] = 'text/html; charset=utf-8';
    },
    body: ({ fields }, word, value) => {
      try {
        fields['body'] = JSON.parse(value) as unknown;
      } catch {
        throw new TypeError(`fault ${word}: expected JSON`);
      }
    },
    'retry-after': number('retryAfter'),
    'retry-after-as': text('retryAfterAs'),
    'after-acting': flag('afterActing'),
    slow: ({ fields }, word, value) => {
      const [, bytes, everyMs] = SLOW.exec(value) ?? [];
      if (bytes === undefined) {
        throw new TypeError(`fault ${word}: expected bytes/milliseconds such as 1/50`);
      }
      fields['slowBody'] = { bytes: Number(bytes), everyMs: Number(everyMs) };
    },
    truncate: number('truncate'),
    huge: number('hugeBody'),
  }),
);

const SLOW = /^([0-9]+)\/([0-9]+)$/;
const HEADER = 'header.';

const header: FaultTextReader = ({ headers }, word, value) => {
  headers[word.slice(HEADER.length)] = value;
};

/**
 * Parses a fault written in one line: the requests it applies to, then words. A value with spaces is
 * written in single or double quotes.
 *
 *     send status=503 times=5
 *     send status=429 retry-after=2 retry-after-as=date
 *     any rate=0.05 seed=7 reset=after-read
 *     send hang=after-acting times=1
 *     send status=302 header.Location=http://127.0.0.1:9/
 *     token status=502 html='<h1>Bad gateway</h1>'
 *     send slow=1/50
 *     send status=403 code=SENDER_NOT_YOURS containing=another-teams-key
 *
 * @throws TypeError or RangeError that names the word
 */
export function parseFault(line: string): Fault {
  const [target, ...words] = wordsOf(line);
  if (target === undefined || target.value !== undefined) {
    throw new TypeError('fault: expected send, token or any first');
  }
  const draft: Draft = { fields: { on: target.word }, headers: {} };
  const seen = new Set<string>();
  for (const { word, value } of words) {
    if (seen.has(word)) throw new TypeError(`fault ${word}: given twice`);
    seen.add(word);
    const read = word.startsWith(HEADER) ? header : READERS.get(word);
    if (read === undefined) {
      const known = [...READERS.keys(), `${HEADER}<name>`].join(', ');
      throw new TypeError(`fault: unknown word "${word}"; known are ${known}`);
    }
    read(draft, word, value ?? '');
  }
  const { fields, headers } = draft;
  return checkedFault(Object.keys(headers).length === 0 ? fields : { ...fields, headers });
}

const WORD = /([^\s=]+)(?:=(?:'([^']*)'|"([^"]*)"|((?!['"])\S*)))?(?:\s+|$)/y;

function wordsOf(line: string): { readonly word: string; readonly value: string | undefined }[] {
  const words = [];
  const trimmed = line.trim();
  let at = 0;
  while (at < trimmed.length) {
    WORD.lastIndex = at;
    const match = WORD.exec(trimmed);
    if (match === null) throw new TypeError(`fault: cannot read "${trimmed.slice(at)}"`);
    const [all, word = '', single, double, plain] = match;
    words.push({ word, value: single ?? double ?? plain });
    at += all.length;
  }
  return words;
}
