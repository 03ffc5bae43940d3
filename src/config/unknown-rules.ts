import { parseDuration } from '../format/duration.ts';
import type { UnknownRule } from '../contracts/outcome.ts';

/** The decisions as they are written. */
const DECISIONS: ReadonlyMap<string, UnknownRule['as']> = new Map([
  ['accepted', 'accepted'],
  ['discard', 'discard'],
  ['resend once', 'resend'],
]);

const MAX_RULES = 50;
/** Characters of a rule that an error repeats. */
const MAX_SHOWN = 60;

/** The rules, or why they are refused. */
export type ParsedRules = { readonly rules: readonly UnknownRule[] } | { readonly problem: string };

/**
 * Parses UNKNOWN_RULES: rules separated by semicolons, each with conditions joined by `and`, a colon and a
 * decision, such as `older than 24 h: accepted; code ECONNRESET: resend once`.
 *
 * A rule is refused where it could never decide, because an earlier rule decides everything that it matches.
 * After `resend once` comes what the same outcome matches when it is unknown again, so such a rule hides no
 * later one, except another `resend once`.
 */
export function parseUnknownRules(text: string): ParsedRules {
  const texts = text
    .split(';')
    .map((one) => one.trim().replace(/\s+/g, ' '))
    .filter((one) => one !== '');
  if (texts.length > MAX_RULES) return { problem: `expected at most ${MAX_RULES} rules` };
  const rules: UnknownRule[] = [];
  for (const [index, one] of texts.entries()) {
    const name = nameOf(index, one);
    const rule = parseRule(one);
    if (typeof rule === 'string') return { problem: `${name}: ${rule}` };
    const at = rules.findIndex((earlier) => hides(earlier, rule));
    const earlier = rules[at];
    if (earlier !== undefined) {
      const what = earlier.as === rule.as ? 'repeats' : 'contradicts';
      const problem = `${name} ${what} ${nameOf(at, earlier.text)}, which decides everything that it matches`;
      return { problem };
    }
    rules.push(rule);
  }
  return { rules };
}

/** Whether the earlier rule decides whatever the later one matches. */
function hides(earlier: UnknownRule, later: UnknownRule): boolean {
  return (
    (earlier.as !== 'resend' || later.as === 'resend') &&
    (earlier.olderThanMs ?? 0) <= (later.olderThanMs ?? 0) &&
    (earlier.code === undefined || earlier.code === later.code) &&
    (earlier.template === undefined || earlier.template === later.template)
  );
}

/** A rule, or why it is refused. */
function parseRule(text: string): UnknownRule | string {
  const colon = text.lastIndexOf(':');
  if (colon < 1) {
    return 'expected conditions, a colon and a decision, such as "older than 24 h: accepted"';
  }
  const decision = text.slice(colon + 1).trim();
  const as = DECISIONS.get(decision);
  if (as === undefined) {
    return `expected the decision accepted, discard or resend once, got ${shown(decision)}`;
  }
  const found: RuleConditions[] = [];
  for (const condition of text.slice(0, colon).trim().split(' and ')) {
    const one = parseCondition(condition.trim());
    if (one === undefined) {
      return `expected a condition such as older than 24 h, code ECONNRESET or template CODE, got ${shown(condition)}`;
    }
    found.push(one);
  }
  const kinds = new Set(found.flatMap((one) => Object.keys(one)));
  if (kinds.size < found.length) return 'has two conditions of one kind';
  return Object.assign({ text, as }, ...found) as UnknownRule;
}

type RuleConditions = Pick<UnknownRule, 'olderThanMs' | 'code' | 'template'>;

function parseCondition(text: string): RuleConditions | undefined {
  const [, age] = /^older than (.+)$/.exec(text) ?? [];
  if (age !== undefined) {
    const olderThanMs = parseDuration(age) ?? 0;
    return olderThanMs > 0 ? { olderThanMs } : undefined;
  }
  const [, field, value] = /^(code|template) (\S{1,200})$/.exec(text) ?? [];
  if (value === undefined) return undefined;
  return field === 'code' ? { code: value } : { template: value };
}

const nameOf = (index: number, text: string) => `rule ${index + 1} (${shown(text)})`;

const shown = (text: string) =>
  JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text);
