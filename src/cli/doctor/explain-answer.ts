import { table } from '../../format/format.ts';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { loadConfig } from '../../config/config.ts';
import type { Outcome } from '../../contracts/outcome.ts';
import { decideOutcome, decidingRow } from '../../service/outcome-table.ts';
import { matchingRule } from '../../service/response/answer-rules.ts';
import { AnswerMask } from '../../service/response/mask-text.ts';
import { readAnswer } from '../../service/response/read-answer.ts';
import type { SendAnswer } from '../../service/send-call.ts';
import { UsageError, type CommandContext } from '../command-context.ts';
import { print } from '../output.ts';
import type { AnswerRules } from '../../contracts/answer-rules.ts';

/** What becomes of an answer. */
export interface ExplainedAnswer {
  readonly status: number;
  readonly body: SendAnswer['body'];
  readonly code?: string;
  readonly message?: string;
  /** Number of the rule in ANSWER_RULES_FILE; absent where the built-in table decides. */
  readonly rule?: number;
  /** Name of the row that decides. */
  readonly row: string;
  readonly outcome: Outcome;
}

/** `notices doctor --answer FILE`: shows what becomes of an answer of the service, without Redis and without a request. */
export async function explainAnswer(
  context: CommandContext,
  command: Command,
  file: string,
): Promise<void> {
  const { answerRules } = loadConfig(context.env, { service: false });
  const written = file === '-' ? await text(context.stdin) : await readText(file);
  const found = explain(written, answerRules);
  print(context, command, found, () => describe(found));
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch {
    throw new UsageError('--answer: expected a readable file');
  }
}

/** What becomes of an answer, by the rules and the built-in table. */
export function explain(written: string, rules: AnswerRules | undefined): ExplainedAnswer {
  const { status, headers, body } = parseAnswer(written);
  const mask = new AnswerMask([]);
  const read = readAnswer({ headers, chunks: [Buffer.from(body)], ending: 'whole' }, mask);
  const rule = rules && matchingRule(rules, { ...read, status });
  const { json: _, ...facts } = read;
  const answer: SendAnswer = {
    ...facts,
    ...(rule === undefined ? {} : { rule }),
    stage: 'answered',
    status,
    refused: status === 401 || status === 403 ? twoRefusals(status) : [],
    requests: 1,
    durationMs: 0,
  };
  const row = decidingRow(answer);
  const { code, message } = read;
  return {
    status,
    body: read.body,
    ...(code === undefined ? {} : { code }),
    ...(message === undefined ? {} : { message }),
    ...(rule === undefined ? {} : { rule: rule.number }),
    row: row?.name ?? '',
    outcome: decideOutcome(answer),
  };
}

const STATUS_LINE = /^HTTP\/[\d.]+ (\d{3})\b/;

/** An answer 401 or 403 is judged after the token was renewed once. */
const twoRefusals = (status: 401 | 403) => [
  { tokenId: 'first', status },
  { tokenId: 'renewed', status },
];

/**
 * Status line and headers as `curl -i` writes them; without them, status 200 and JSON. The last head counts: those
 * before it are of a proxy, or of `100 Continue`.
 */
function parseAnswer(written: string): {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
} {
  const parts = written.split(/\r?\n\r?\n/);
  while (parts.slice(0, 2).filter((part) => STATUS_LINE.test(part)).length === 2) parts.shift();
  const [head = '', ...rest] = parts;
  const line = STATUS_LINE.exec(head);
  if (line === null) return { status: 200, headers: {}, body: written };
  const headers = head.split(/\r?\n/).flatMap((header) => {
    const [, name, value] = /^([\w-]+):\s*(.*)$/.exec(header) ?? [];
    return name === undefined || value === undefined ? [] : [[name.toLowerCase(), value] as const];
  });
  return {
    status: Number(line[1]),
    headers: Object.fromEntries(headers),
    body: rest.join('\n\n'),
  };
}

function describe(found: ExplainedAnswer): string[] {
  const by =
    found.rule === undefined ? `the built-in table: ${found.row}` : `answer rule ${found.rule}`;
  return [
    ...table([
      ['status', String(found.status)],
      ['body', found.body],
      ['code', found.code ?? 'none'],
      ['message', found.message ?? 'none'],
      ['decided by', by],
      ['outcome', describeOutcome(found.outcome)],
    ]),
  ];
}

function describeOutcome(outcome: Outcome): string {
  const kind = outcome.kind === 'hold' ? `hold ${outcome.hold}` : outcome.kind;
  return 'code' in outcome ? `${kind} (${outcome.code})` : kind;
}
