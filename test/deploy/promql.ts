/** A metric that an expression names, and the labels it wants of it. */
export interface Selector {
  readonly metric: string;
  readonly matchers: readonly {
    readonly label: string;
    readonly operator: '=' | '!=' | '=~' | '!~';
    readonly value: string;
  }[];
}

/** What an expression of PromQL names. */
export interface Expression {
  readonly selectors: readonly Selector[];
  /** Labels in `by`, `on`, `without`, `ignoring`. */
  readonly groupings: readonly string[];
}

/** Functions, operators and keywords that the expressions may use. */
const WORDS: ReadonlySet<string> = new Set(
  `sum max min count rate increase absent vector histogram_quantile max_over_time
  by on and or unless`.split(/\s+/),
);

/**
 * Reads an expression as far as that can be done without Prometheus: every word
 * in it is a function, a keyword, a metric of the program or a label in a grouping.
 *
 * @throws Error that says what is wrong
 */
export function readExpression(text: string): Expression {
  let rest = text;
  const selectors: Selector[] = [];
  const groupings: string[] = [];
  const take = (pattern: RegExp, use: (match: RegExpMatchArray) => string) => {
    rest = rest.replaceAll(pattern, (...match) => use(match.slice(0, -2) as RegExpMatchArray));
  };
  // Strings first: they may hold any bracket.
  const strings: string[] = [];
  take(/"((?:[^"\\]|\\.)*)"/g, ([, content = '']) => `"${strings.push(content) - 1}"`);
  take(/\b(?:by|on|without|ignoring)\s*\(([^()]*)\)/g, ([, list = '']) => {
    for (const label of list.split(',')) groupings.push(label.trim());
    return ' ';
  });
  take(/\b([a-z_]+)\s*\{([^{}]*)\}/g, ([, metric = '', list = '']) => {
    const matchers = list.split(',').map((matcher) => {
      const [, label, operator, index] =
        /^\s*(\w+)\s*(=~|!~|!=|=)\s*"(\d+)"\s*$/.exec(matcher) ?? [];
      if (label === undefined) throw new Error(`no matcher: ${matcher} in ${text}`);
      return {
        label,
        operator: operator as Selector['matchers'][number]['operator'],
        value: strings[Number(index)] ?? '',
      };
    });
    selectors.push({ metric, matchers });
    return ' ';
  });
  take(/\[(?:\d+[smhd]|\$__rate_interval)\]/g, () => ' ');
  take(/\b[a-z_]\w*/g, ([word = '']) => {
    if (/^(?:notices|process|nodejs)_/.test(word)) selectors.push({ metric: word, matchers: [] });
    else if (!WORDS.has(word)) throw new Error(`unknown word ${word} in ${text}`);
    return ' ';
  });
  const left = rest.replaceAll(/[\d.\s()+\-*/<>=!,]/g, '');
  if (left !== '') throw new Error(`cannot read ${left} in ${text}`);
  if (selectors.length === 0) throw new Error(`no metric in ${text}`);
  return { selectors, groupings };
}
