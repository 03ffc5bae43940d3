import { Command } from 'commander';
import { text } from 'node:stream/consumers';
import { InputError } from '../../contracts/errors.ts';
import type { EraseReport, LeftReason, LeftStored } from '../../erase/erase-number.ts';
import type { StoredAboutNumber } from '../../erase/find-stored.ts';
import { formsOf } from '../../format/country.ts';
import { countOf } from '../../format/format.ts';
import { whyOption } from '../arguments.ts';
import { STOPPED, currentUser, untilStopped, type CommandContext } from '../command-context.ts';
import { agreed } from '../confirm.ts';
import { withLedger, type OpenLedger } from '../open-queue.ts';
import { print, wantsJson, writeLines } from '../output.ts';

interface EraseFlags {
  why?: string;
  yes?: boolean;
}

/**
 * `notices erase`: removes what is stored about one phone number. Exits with 1 where something is left, or the
 * user declined.
 */
export function eraseCommand(context: CommandContext): Command {
  return new Command('erase')
    .argument('<number>', "the phone number, or '-' to read it from standard input")
    .addOption(whyOption())
    .option('--yes', 'do not ask for confirmation')
    .action((given: string, flags: EraseFlags, command: Command) =>
      withLedger(context, (open) => erase(context, open, given, flags, command)),
    );
}

async function erase(
  context: CommandContext,
  { redis, keys, ledger, sealing, config }: OpenLedger,
  given: string,
  { why: reason = '', yes = false }: EraseFlags,
  command: Command,
): Promise<void> {
  const { findStored } = await import('../../erase/find-stored.ts');
  const { eraseNumber } = await import('../../erase/erase-number.ts');
  const { lookUpNumber } = await import('../../batch/source/check-number.ts');
  const { auditSearch, withoutNumbers } = await import('../../ops/audit.ts');
  const { maskNumber } = await import('../../ops/mask-contact.ts');
  // Standard input keeps the number out of the shell history and of the process list.
  const typed = given === '-' ? (await text(context.stdin)).trim() : given;
  const checked = lookUpNumber(typed);
  if (checked.kind === 'refused') {
    throw new InputError('NOTICE_INVALID', [{ field: 'number', problem: checked.reason }]);
  }
  const { number } = checked;
  const actor = { who: currentUser(), why: withoutNumbers(reason) };
  const place = { redis, keys, ledger, sealing, settings: config.queue };
  await auditSearch(redis, keys, actor, number);
  const found: { form: string; stored: StoredAboutNumber }[] = [];
  for (const form of formsOf(number)) {
    found.push({ form, stored: await findStored(place, form) });
  }
  const kept = found.filter(({ stored }) => !isEmpty(stored));
  const isNothing = kept.length === 0;
  if (!isNothing) {
    if (!wantsJson(command)) {
      for (const { stored } of kept) writeLines(context.stderr, preview(stored));
    }
    const question = `Erase what is stored about ${maskNumber(number)}? It cannot be restored.`;
    if (!(await agreed(context, question, yes))) return;
  }
  const report = await untilStopped(context, async (signal) => {
    const reports: EraseReport[] = [];
    for (const { form, stored } of isNothing ? found.slice(0, 1) : kept) {
      reports.push(await eraseNumber(place, form, stored, actor, signal));
    }
    return reports.reduce(added);
  });
  print(context, command, report, () => [
    ...(isNothing ? ['Nothing is stored about this number; nothing was done.'] : describe(report)),
    ...describeRest(report),
  ]);
  const { left, unreadable, stopped } = report;
  if (left.length + unreadable.notices + unreadable.chunks > 0 || stopped) context.end(1);
}

/** One report of the erasures of several forms of a number. */
function added(one: EraseReport, other: EraseReport): EraseReport {
  const index =
    one.index === null || other.index === null
      ? (one.index ?? other.index)
      : {
          notices: one.index.notices + other.index.notices,
          chunks: one.index.chunks + other.index.chunks,
          keys: one.index.keys + other.index.keys,
        };
  return {
    ...one,
    notices: {
      cancelled: one.notices.cancelled + other.notices.cancelled,
      removed: one.notices.removed + other.notices.removed,
      shortened: one.notices.shortened + other.notices.shortened,
    },
    batches: [...one.batches, ...other.batches],
    index,
    left: [...one.left, ...other.left],
    stopped: one.stopped || other.stopped,
  };
}

function isEmpty({ notices, contacts, index }: StoredAboutNumber): boolean {
  const entries = index === undefined ? 0 : index.entries.length + index.batches.length;
  return notices.length + contacts.length + entries === 0;
}

/** What would be erased. */
function preview({ notices, contacts, index }: StoredAboutNumber): string[] {
  const inPlace = (place: string) => notices.filter((one) => one.place === place).length;
  const shared = notices.filter((one) => one.shared).length;
  const batches = new Set(contacts.map(({ batch }) => batch));
  const waiting = contacts.filter(({ state }) => state === 'waiting').length;
  const entries = index?.entries.length ?? 0;
  const prints = index?.batches.reduce((sum, { hits }) => sum + hits.length, 0) ?? 0;
  return [
    `Single notices: ${inPlace('waiting')} waiting, ${inPlace('sending')} being sent, ${inPlace('ended')} ended; ${shared} for several people.`,
    `Batches: ${countOf(waiting, 'chunk')} not sent, ${countOf(contacts.length - waiting, 'failure')}${batches.size === 0 ? '' : ` (${[...batches].join(', ')})`}.`,
    index === undefined
      ? 'Search index: not read, FIND_KEY is not set.'
      : `Search index: ${countOf(entries, 'entry', 'entries')} of single notices, ${countOf(prints, 'chunk')}.`,
  ];
}

function describe({ number, notices, batches, index }: EraseReport): string[] {
  const { cancelled, removed, shortened } = notices;
  return [
    `${number}: ${countOf(cancelled, 'notice')} cancelled and removed, ${countOf(removed, 'ended notice')} removed, ${countOf(shortened, 'notice')} for several people without the contact.`,
    ...batches.map(
      ({ batch, waiting, ended }) =>
        `Batch ${batch}: removed from ${countOf(waiting, 'chunk')} that waited, and ${countOf(ended, 'failure')}. It counts as cancelled.`,
    ),
    ...(index === null
      ? []
      : [
          `Search index: ${countOf(index.notices, 'entry', 'entries')}, ${countOf(index.chunks, 'fingerprint')}; ${countOf(index.keys, 'idempotency key')} of deleted notices.`,
        ]),
  ];
}

const WHY_LEFT: Readonly<Record<LeftReason, string>> = {
  sending: 'is being sent: run the command again when it has ended',
  'possibly-sent':
    'was possibly sent and will be tried again: run the command again when it has ended',
  changed: 'changed meanwhile: run the command again',
};

/** What is not erased, and what to do. */
function describeRest({ index, left, unreadable, importing, stopped }: EraseReport): string[] {
  const { notices, chunks } = unreadable;
  return [
    ...left.map((one) => `Left: ${placeOf(one)} ${WHY_LEFT[one.reason]}.`),
    ...(notices + chunks === 0
      ? []
      : [
          `Not readable: ${countOf(notices, 'notice')}, ${countOf(chunks, 'chunk')}. Set PAYLOAD_KEY or PAYLOAD_KEY_PREVIOUS to the key with which they are encrypted, and run the command again.`,
        ]),
    ...importing.map(
      (id) =>
        `Batch ${id} is being imported: remove the number from the rest of its list, or run the command again after the import ("notices batch ${id}"), or "notices cancel ${id}".`,
    ),
    ...(index === null ? ['The search index was not changed: set FIND_KEY if one is used.'] : []),
    ...(stopped ? [STOPPED] : []),
  ];
}

function placeOf({ notice, batch = '', chunk }: LeftStored): string {
  return notice === undefined ? `chunk ${chunk ?? ''} of batch ${batch}` : `notice ${notice}`;
}
