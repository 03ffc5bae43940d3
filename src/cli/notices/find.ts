import { Command } from 'commander';
import { text } from 'node:stream/consumers';
import type { FindReport } from '../../search/find-contact.ts';
import { describeFalsePositiveRate } from '../../search/find-contact.ts';
import type { CommandContext } from '../command-context.ts';
import { withLedger } from '../open-ledger.ts';
import { duration, print, table } from '../output.ts';
import { count, countOf } from '../progress.ts';

/** `notices find`: what became of the notices for one phone number. */
export function findCommand(context: CommandContext): Command {
  return new Command('find')
    .description('what became of the notices for one phone number; 1 where there are none')
    .argument('<number>', "the phone number, or '-' to read it from standard input")
    .action((given: string, _flags: object, command: Command) =>
      withLedger(context, async ({ redis, keys, config }) => {
        const { findInQueue } = await import('../../search/find-contact.ts');
        // Not everybody wants it in the history of a shell, or where `ps` shows it.
        const number = given === '-' ? (await text(context.stdin)).trim() : given;
        const settings = { ...config.queue, keepFailedMs: config.worker.keepFailedMs };
        const report = await findInQueue({ redis, keys, settings }, number);
        print(context, command, report, () => describe(report));
        if (report.notices.length + report.contacts.length === 0) context.end(1);
      }),
    );
}

function describe({ notices, contacts, searched }: FindReport): string[] {
  const rows = [
    ...notices.map(({ job, states, confirmed, at, code, template }) => [
      `notice ${job}`,
      states.join(' or '),
      confirmed ? 'yes' : 'its job is no longer kept',
      new Date(at).toISOString(),
      code ?? '',
      template ?? '',
    ]),
    ...contacts.map(({ batch, chunk, states, confirmed, at, code, template }) => [
      `batch ${batch}, chunk ${chunk}`,
      states.join(' or '),
      confirmed ? 'yes' : 'probably: the contact is deleted',
      new Date(at).toISOString(),
      code ?? '',
      template,
    ]),
  ];
  const found =
    rows.length === 0
      ? ['nothing was found']
      : table([['WHERE', 'STATE', 'CONFIRMED', 'SINCE', 'CODE', 'TEMPLATE'], ...rows]);
  return [...found, '', ...describeSearch(searched)];
}

function describeSearch({
  since,
  batches,
  contacts,
  unindexedChunks,
  wrongHit,
}: FindReport['searched']): string[] {
  const span = duration(Math.max(0, Date.now() - since));
  const lines = [
    `looked at what was handed over in the last ${span}: single notices, and ${countOf(contacts, 'contact')} of ${count(batches)} batches`,
  ];
  if (unindexedChunks > 0) {
    lines.push(
      `${countOf(unindexedChunks, 'chunk')} could not be looked through: stored without FIND_KEY, or too long ago`,
    );
  }
  if (contacts > 0) {
    lines.push(
      `the chance that a contact that is not confirmed belongs to another number: ${describeFalsePositiveRate(wrongHit)}`,
    );
  }
  return lines;
}
