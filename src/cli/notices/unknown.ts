import { Command } from 'commander';
import type { Unknowns } from '../../ops/unknown/select.ts';
import { countOf, table } from '../../format/format.ts';
import { writeTime } from '../../format/time.ts';
import { UsageError, currentUser, type CommandContext } from '../command-context.ts';
import { withLedger, type OpenLedger } from '../open-queue.ts';
import { saysExported, print, wantsJson, writeOut } from '../output.ts';
import { filterOf, unknownContext, unknownFlags, type UnknownFlags } from './unknown-flags.ts';

/** `notices unknown`: lists what is unknown without phone numbers; with `--csv` the contacts themselves. */
export function unknownCommand(context: CommandContext): Command {
  const command = new Command('unknown').option(
    '--csv',
    'write the contacts as CSV, with phone numbers and trace ids',
  );
  return unknownFlags(command).action((flags: UnknownFlags & { csv?: boolean }, self: Command) => {
    if (flags.csv === true && wantsJson(self)) {
      throw new UsageError('use either --csv (the contacts) or --json (the list)');
    }
    return withLedger(context, async (open) => {
      const filter = await filterOf(context, open, flags);
      if (flags.csv === true) {
        await writeCsv(context, open, filter, flags.why);
        return;
      }
      const { selectUnknown } = await import('../../ops/unknown/select.ts');
      const found = await selectUnknown(unknownContext(open), filter);
      print(context, self, found, () => describeUnknowns(found, Date.now()));
    });
  });
}

async function writeCsv(
  { stdout, stderr }: CommandContext,
  open: OpenLedger,
  filter: Awaited<ReturnType<typeof filterOf>>,
  why = '',
): Promise<void> {
  const { unknownCsv, unknownDownload } = await import('../../ops/unknown/unknown-csv.ts');
  const { appendAudit } = await import('../../ops/audit.ts');
  await appendAudit(open.redis, open.keys, unknownDownload(filter, { who: currentUser(), why }));
  const contacts = await unknownCsv(unknownContext(open), filter, (text) => writeOut(stdout, text));
  saysExported({ stderr }, contacts);
}

/** Describes them in lines of text. */
export function describeUnknowns({ notices, batches }: Unknowns, now: number): string[] {
  if (notices.length + batches.length === 0) return ['No outcome is unknown.'];
  const age = (at: number) => writeTime(at, now);
  return [
    ...table([
      [
        'SINCE',
        'JOB OR BATCH',
        'TEMPLATE',
        'CONTACTS',
        'CODE',
        'LAST STAGE',
        'POSSIBLY SENT',
        'TRACE IDS',
      ],
      ...notices.map((notice) => [
        age(notice.at),
        notice.id,
        notice.template,
        String(notice.contacts),
        notice.code,
        notice.stage,
        countOf(notice.possiblySent, 'time'),
        notice.traceIds?.join(' ') ?? '',
      ]),
      ...batches.map(({ batch, at, template, contacts, codes }) => [
        age(at),
        `batch ${batch}`,
        template,
        String(contacts),
        codes.join(', '),
        '',
        '',
        '',
      ]),
    ]),
    'Check them at the service, then run "notices resolve ID --as accepted" or "notices resolve --batch BATCH --as accepted".',
    'Instead of accepted: --as discard gives them up, --as resend sends them again.',
  ];
}
