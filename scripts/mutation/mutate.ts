/** A change of one line that a test should notice. */
export interface Mutant {
  readonly file: string;
  /** Line number, from 1. */
  readonly line: number;
  /** What was changed into what. */
  readonly what: string;
  /** The changed line. */
  readonly text: string;
  /** Within a text of several lines: a script of Redis. */
  readonly inScript: boolean;
}

/** Realistic slips, as patterns of TypeScript and of the Lua in template literals. */
const SLIPS: readonly (readonly [RegExp, string])[] = [
  [/ === /g, ' !== '],
  [/ !== /g, ' === '],
  [/ == (?!=)/g, ' ~= '],
  [/ ~= /g, ' == '],
  [/ < (?=[\w(-])/g, ' <= '],
  [/ <= /g, ' < '],
  [/ > (?=[\w(-])/g, ' >= '],
  [/ >= /g, ' > '],
  [/ && /g, ' || '],
  [/ \|\| /g, ' && '],
  [/ \?\? /g, ' && '],
  [/ and /g, ' or '],
  [/ or /g, ' and '],
  [/ \+ (?=[\w(])/g, ' - '],
  [/ - (?=[\w(])/g, ' + '],
  [/\btrue\b/g, 'false'],
  [/\bfalse\b/g, 'true'],
  [/\bawait (?=[\w#])/g, 'void '],
  [/\bmath\.max\(/gi, 'Math.min('],
  [/\bmath\.min\(/gi, 'Math.max('],
  [/'NX', /g, ''],
  [/ \* (?=\d)/g, ' / '],
  // The whole condition: only a part of it would often not compile.
  [/\bif \((.+)\)(?= \{$| (?:return|throw|continue|break)\b| [\w.#]+(?:\(| = ))/g, 'if (!($1))'],
  [/^(\s*)(redis\.call\('(?:DEL|HDEL|ZREM|PEXPIRE|PUBLISH)'.*\))$/g, '$1-- $2'],
  [/^(\s*)((?:await )?(?:this\.)?#?\w+(?:\.#?\w+)*\(.*\);)$/g, '$1// $2'],
];

/** Whether a line is code whose change a test can notice. */
function isCode(line: string): boolean {
  const text = line.trim();
  return (
    text !== '' &&
    !/^(?:\/\/|\/\*|\*|--|import |export (?:type|interface)|readonly |interface |type |@)/.test(
      text,
    ) &&
    !/^\w+\??: [^=(]*[;,]$/.test(text) &&
    !/^(?:private |protected )?[#\w]+\(.*\): .* \{$/.test(text)
  );
}

/** All mutants of a file, in the order of its lines. */
export function mutantsOf(file: string, source: string): Mutant[] {
  const mutants: Mutant[] = [];
  // Comments of several lines, and Markdown tables in them, are no code.
  let inComment = false;
  let inScript = false;
  for (const [index, line] of source.split('\n').entries()) {
    const text = line.trim();
    if (text.startsWith('/*')) inComment = true;
    const skipped = inComment || !isCode(line);
    if (text.endsWith('*/')) inComment = false;
    if (skipped) continue;
    const quotes = line.split('`').length - 1;
    const began = inScript;
    if (quotes % 2 === 1) inScript = !inScript;
    for (const [pattern, replacement] of SLIPS) {
      for (const match of line.matchAll(pattern)) {
        const before = line.slice(0, match.index);
        // Within a text of more than a word.
        const isInText = (before.match(/'/g)?.length ?? 0) % 2 === 1;
        if (isInText && /'[^']*\s[^']*$/.test(before + match[0])) continue;
        const changed = replacement.replaceAll(/\$(\d)/g, (_, group) => match[Number(group)] ?? '');
        mutants.push({
          file,
          line: index + 1,
          // A line that is commented out, and a part that is left out, become nothing.
          what: `${match[0].trim()} → ${(replacement.startsWith('$1') ? '' : changed.trim()) || 'nothing'}`,
          text: before + changed + line.slice(match.index + match[0].length),
          inScript: began,
        });
      }
    }
  }
  return mutants;
}

/** A generator of numbers in [0, 1) that repeats for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** So many of a list, drawn at random; more of them begin with the fewer of the same seed. */
export function sample<Item>(items: readonly Item[], count: number, random: () => number): Item[] {
  return items
    .map((item) => ({ item, at: random() }))
    .toSorted((left, right) => left.at - right.at)
    .slice(0, count)
    .map(({ item }) => item);
}
