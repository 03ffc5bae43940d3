import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';
import { formsOf, type Canary, type Form } from './forms.ts';

/** Something that was written, and where. */
export interface Written {
  readonly place: string;
  readonly bytes: Buffer;
  /** Of Redis. */
  readonly key?: string;
}

/** A canary that was found. */
export interface Hit {
  readonly canary: string;
  readonly form: string;
  readonly place: string;
  /** What stands around it. */
  readonly context: string;
}

/** Between the digits of a number, after NFKC: a no-break space is a space then, and a full-width digit a digit. */
const SEPARATORS = /&nbsp;|&#160;|[\p{Zs}\p{Cf}\p{Pd}\t.()+/_,:;\u00b7\u2212\ufffd]/giu;
const CONTEXT = 80;

/** Of a number in the national or the international form: its digits without the leading zero. */
const significant = (number: string): string => number.replaceAll(/[^0-9]/g, '').replace(/^0/, '');

/** Searches everything that was written for canaries, in all their forms. */
export class CanarySearch {
  readonly #texts: readonly (readonly [Canary, readonly Form[]])[];
  readonly #numbers: readonly (readonly [Canary, string])[];

  constructor(canaries: readonly Canary[]) {
    this.#texts = canaries.map((canary) => [canary, formsOf(canary)]);
    this.#numbers = canaries
      .filter(({ kind }) => kind === 'number')
      .map((canary) => [canary, significant(canary.value)]);
  }

  /** What is found, each canary and form once for each place. */
  in(written: readonly Written[]): Hit[] {
    const hits = new Map<string, Hit>();
    for (const { place, bytes } of written) {
      for (const hit of this.#inBytes(place, bytes)) {
        const name = `${hit.canary} ${hit.form} ${place}`;
        if (!hits.has(name)) hits.set(name, hit);
      }
    }
    return [...hits.values()];
  }

  *#inBytes(place: string, bytes: Buffer): Generator<Hit> {
    for (const one of [bytes, ...decompressed(bytes)]) {
      const text = one.toString('latin1');
      for (const [{ name: canary }, forms] of this.#texts) {
        for (const { form, needle } of forms) {
          const at = text.indexOf(needle);
          if (at >= 0) yield { canary, form, place, context: around(text, at) };
        }
      }
      const joined = joinedDigits(one);
      for (const [{ name: canary }, digits] of this.#numbers) {
        const at = joined.indexOf(digits);
        if (at >= 0) yield { canary, form: 'digits', place, context: around(joined, at) };
      }
    }
  }
}

/** The text without what can stand between the digits of a number, in UTF-8, in JSON or in a URL. */
function joinedDigits(bytes: Buffer): string {
  return bytes
    .toString()
    .replaceAll(/(?:%[0-9a-f]{2})+/gi, (run) =>
      Buffer.from(run.replaceAll('%', ''), 'hex').toString(),
    )
    .replaceAll(/\\+u([0-9a-f]{4})/gi, (_, unit: string) =>
      String.fromCharCode(Number.parseInt(unit, 16)),
    )
    .normalize('NFKC')
    .replaceAll(SEPARATORS, '');
}

function around(text: string, at: number): string {
  return JSON.stringify(text.slice(Math.max(0, at - CONTEXT), at + CONTEXT));
}

/** What a value holds that is compressed, as chunks of lists are, with or without a byte before it. */
function decompressed(bytes: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (const start of [0, 1]) {
    for (const open of [inflateRawSync, inflateSync, gunzipSync, brotliDecompressSync]) {
      try {
        found.push(open(bytes.subarray(start)));
      } catch {
        // Not compressed in this way.
      }
    }
  }
  return found;
}
