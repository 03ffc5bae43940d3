import { Command } from 'commander';
import { text } from 'node:stream/consumers';
import type { FindReport } from '../../search/find-contact.ts';
import { countOf, table } from '../../format/format.ts';
import { writeTime } from '../../format/time.ts';
import { whyOption } from '../arguments.ts';
import { currentUser, type CommandContext } from '../command-context.ts';
import { withLedger } from '../open-queue.ts';
import { print } from '../output.ts';

/** `notices find`: the outcome of notices for one phone number. */
export function findCommand(context: CommandContext): Command {
  return new Command('find')
    .argument('<number>', "the phone number, or '-' to read it from standard input")
    .addOption(whyOption())
    .action((given: string, { why = '' }: { why?: string }, command: Command) =>
      withLedger(context, async ({ redis, keys, sealing, config }) => {
        const { describeFalsePositiveRate, findInQueue } =
          await import('../../search/find-in-queue.ts');
        const { auditSearch } = await import('../../ops/audit.ts');
        // Standard input keeps the number out of the shell history and of the process list.
        const number = given === '-' ? (await text(context.stdin)).trim() : given;
        await auditSearch(redis, keys, { who: currentUser(), why }, number);
        const report = await findInQueue({ redis, keys, sealing, settings: config.queue }, number);
        print(context, command, report, () =>
          describe(report, describeFalsePositiveRate(report.searched.wrongHit)),
        );
        if (report.notices.length + report.contacts.length === 0) context.end(1);
      }),
    );
}

function describe({ notices, contacts, searched }: FindReport, wrongHit: string): string[] {
  const rows = [
    ...notices.map(({ job, states, confirmed, at, code, template, possiblySent = 0 }) => [
      `notice ${job}`,
      describeStates(states, possiblySent),
      confirmed ? 'yes' : 'no: its job was deleted',
      new Date(at).toISOString(),
      code ?? '',
      template ?? '',
    ]),
    ...contacts.map(({ batch, chunk, row, states, confirmed, at, code, template }) => [
      `batch ${batch}, ${row === undefined ? `chunk ${chunk}` : `row ${row}`}`,
      states.join(' or '),
      confirmed ? 'yes' : 'probably: the contact was deleted',
      new Date(at).toISOString(),
      code ?? '',
      template,
    ]),
  ];
  const found =
    rows.length === 0
      ? ['No notice found.']
      : table([['WHERE', 'STATE', 'CONFIRMED', 'SINCE', 'CODE', 'TEMPLATE'], ...rows]);
  return [...found, '', ...describeSearch(searched, wrongHit)];
}

function describeStates(states: readonly string[], possiblySent: number): string {
  const attempts = countOf(possiblySent, 'attempt');
  return `${states.join(' or ')}${possiblySent === 0 ? '' : `, ${attempts} possibly sent`}`;
}

/** @param wrongHit the probability of a wrong hit, as text */
function describeSearch(
  { since, batches, contacts, unindexedChunks }: FindReport['searched'],
  wrongHit: string,
): string[] {
  const span = writeTime(since, Date.now(), (length) => `of the last ${length}`);
  const lines = [
    `Searched notices ${span}: single notices, and ${countOf(contacts, 'contact')} in ${countOf(batches, 'batch', 'batches')}.`,
  ];
  if (unindexedChunks > 0) {
    lines.push(
      `Not searchable: ${countOf(unindexedChunks, 'chunk')}, stored without FIND_KEY or too long ago.`,
    );
  }
  if (contacts > 0) {
    lines.push(`Probability that an unconfirmed contact belongs to another number: ${wrongHit}.`);
  }
  return lines;
}
