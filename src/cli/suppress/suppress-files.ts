import type { Command } from 'commander';
import { SUPPRESS_REASONS } from '../../contracts/suppression.ts';
import type { OpenSource } from '../../batch/source/open-source.ts';
import { countOf, formatCount } from '../../format/format.ts';
import { appendAudit } from '../../ops/audit.ts';
import type { OperationContext } from '../../ops/operations/operation.ts';
import { MemoryRoom } from '../../redis/memory-room.ts';
import { DoNotSendList, type NumberToAdd } from '../../suppression/do-not-send.ts';
import {
  addAll,
  differenceTo,
  printsOfAll,
  removeAll,
  storedSuppressions,
  type Done,
} from '../../suppression/whole-list.ts';
import type { ReadingFlags } from '../batches/import-flags.ts';
import { currentUser, UsageError, untilStopped, type CommandContext } from '../command-context.ts';
import { agreed } from '../confirm.ts';
import { withLedger } from '../open-queue.ts';
import { print, saysExported, writeOut } from '../output.ts';

export interface FileFlags extends ReadingFlags {
  readonly contact?: string;
  readonly why?: string | undefined;
  readonly yes?: boolean;
  readonly allowRemoving?: number;
}

/** Maximum number of rows that are named. */
const MAX_SHOWN = 5;

/** What was read of a list. Rows without a number are counted, and the first are named. */
interface ReadNumbers {
  rows: number;
  refused: number;
  readonly problems: string[];
}

const NOTHING_READ = (): ReadNumbers => ({ rows: 0, refused: 0, problems: [] });

/**
 * Reads the numbers of a list, from the beginning.
 *
 * @throws NoticeQueueError SOURCE_INVALID where the file was written since it was opened
 */
async function* numbersOf(source: OpenSource, read: ReadNumbers): AsyncGenerator<NumberToAdd> {
  const note = (row: number, text: string) => {
    if (read.problems.length < MAX_SHOWN) read.problems.push(`row ${row}: ${text}`);
  };
  const taken = ({ contact, reason = '' }: NumberRow, row = read.rows + 1): NumberToAdd => {
    read.rows += 1;
    const text = String(reason).trim().toLowerCase();
    if (text === '') return { number: contact, reason: 'opt-out' };
    const known = SUPPRESS_REASONS.find((one) => one === text);
    if (known === undefined) {
      note(row, `expected ${SUPPRESS_REASONS.join(', ')} as the reason; "other" is taken`);
    }
    return { number: contact, reason: known ?? 'other' };
  };
  await source.verify?.();
  const { rows } = await source.read();
  for (let next = await rows.next(); next.done !== true; next = await rows.next()) {
    for (const part of next.value) {
      if (!('check' in part)) {
        const from = part.from === 0 ? 0 : (part.block.ends[part.from - 1] ?? 0);
        // Each starts with a comma.
        const json = part.block.json.toString('utf8', from + 1, part.block.ends[part.to - 1]);
        for (const one of JSON.parse(`[${json}]`) as NumberRow[]) yield taken(one);
      } else if (part.check.kind === 'contact') {
        yield taken(JSON.parse(part.check.json) as NumberRow, part.row);
      } else {
        read.rows += 1;
        read.refused += 1;
        note(part.row, part.check.reason);
      }
    }
  }
  await source.verify?.();
}

interface NumberRow {
  readonly contact: string;
  readonly reason?: unknown;
}

/** `notices suppress import FILE`: exits with 1 if rows were refused. */
export function importList(
  context: CommandContext,
  command: Command,
  name: string,
  flags: FileFlags,
): Promise<void> {
  return withFile(context, name, flags, async (source, { list, room, recorded }) => {
    const read = NOTHING_READ();
    const { added } = await recorded('imported', async (done) => {
      await addAll(list, numbersOf(source, read), room, done);
    });
    const { rows, refused, problems } = read;
    if (rows === 0) throw noNumbers(name);
    const answer = { rows, added, refused, listed: await list.count() };
    print(context, command, answer, () => [
      `${countOf(rows, 'row')}: ${formatCount(added)} added, ${formatCount(refused)} refused.`,
      ...problems,
    ]);
    if (refused > 0) context.end(1);
  });
}

/** `notices suppress sync FILE`: shows what would change and asks. Nothing changes where a row is refused. */
export async function syncList(
  context: CommandContext,
  command: Command,
  name: string,
  flags: FileFlags,
): Promise<void> {
  if (name === '-') throw new UsageError('sync reads its list twice: name a file instead of -.');
  await withFile(context, name, flags, async (source, { redis, keys, list, room, recorded }) => {
    const read = NOTHING_READ();
    const wanted = await printsOfAll(list, numbersOf(source, read));
    const { rows, refused, problems } = read;
    if (refused > 0) {
      throw new UsageError(
        `${name}: ${countOf(refused, 'row')} refused, such as ${problems[0] ?? ''}; nothing was changed`,
      );
    }
    if (rows === 0) throw noNumbers(name);
    const { toAdd, toRemove } = await differenceTo(redis, keys, wanted);
    if (flags.yes === true) refuseLoss(toRemove.length, await list.count(), flags.allowRemoving);
    const question = `Add ${countOf(toAdd, 'number')} to the do-not-send list and remove ${formatCount(toRemove.length)}?`;
    if (toAdd + toRemove.length > 0 && !(await agreed(context, question, flags.yes))) return;
    const { added, removed } = await recorded('synced', async (done) => {
      await addAll(list, numbersOf(source, NOTHING_READ()), room, done);
      await removeAll(list, toRemove, done);
    });
    const answer = { rows, added, removed, listed: await list.count() };
    print(context, command, answer, () => [
      `${formatCount(added)} added, ${formatCount(removed)} removed.`,
    ]);
  });
}

const noNumbers = (name: string) =>
  new UsageError(`${name}: it has no numbers; nothing was changed`);

/** Numbers of a list of which half may be removed without a question; of a longer one it is a tenth. */
const SHORT_LIST = 20;

/** @throws UsageError where more would be removed than a file that lacks a part would explain */
function refuseLoss(removed: number, listed: number, allowed: number | undefined): void {
  const most = allowed ?? Math.floor(listed / (listed > SHORT_LIST ? 10 : 2));
  if (removed <= most) return;
  throw new UsageError(
    `This would remove ${formatCount(removed)} of ${countOf(listed, 'number')}, with --yes at most ${formatCount(most)}: check the file, or add --allow-removing ${removed}; nothing was changed`,
  );
}

/** `notices suppress export`. */
export function exportList(context: CommandContext, why = ''): Promise<void> {
  return withLedger(context, async ({ redis, keys }) => {
    await appendAudit({ redis, keys }, { who: currentUser(), why }, { ...ENTRY, as: 'exported' });
    const { csvLine } = await import('../../batch/failures/csv-line.ts');
    let written = 0;
    await writeOut(context.stdout, csvLine(['hash', 'reason', 'since']));
    for await (const { print: hash, reason, since } of storedSuppressions(redis, keys)) {
      const cells = [hash.toString(16).padStart(16, '0'), reason, new Date(since).toISOString()];
      if (!(await writeOut(context.stdout, csvLine(cells)))) return;
      written += 1;
    }
    saysExported(context, written, 'number');
  });
}

const ENTRY = { what: 'suppress', target: 'do-not-send list' } as const;

/** What the commands that change the list work with. */
interface Tools extends OperationContext {
  readonly list: DoNotSendList;
  readonly room: MemoryRoom;
  /** Runs what changes the list, and records how much it did, also where it is stopped or fails. */
  readonly recorded: (as: string, use: (done: Done) => Promise<void>) => Promise<Done>;
}

/** Opens the do-not-send list and a file of numbers, and runs a command on them until it is stopped. */
function withFile(
  context: CommandContext,
  name: string,
  { delimiter, encoding, contact, why = '' }: FileFlags,
  use: (source: OpenSource, tools: Tools) => Promise<void>,
): Promise<void> {
  return untilStopped(context, (signal) =>
    withLedger(context, async (open) => {
      const { redis, keys, sealing } = open;
      const recorded: Tools['recorded'] = async (as, change) => {
        const done = { added: 0, removed: 0 };
        try {
          await change(done);
        } finally {
          const contacts = done.added + done.removed;
          await appendAudit(open, { who: currentUser(), why }, { ...ENTRY, as, contacts });
        }
        return done;
      };
      const { openSource } = await import('../../batch/source/open-source.ts');
      const source = await openSource(name === '-' ? context.stdin : name, {
        format: undefined,
        delimiter,
        encoding: encoding ?? 'utf-8',
        header: true,
        map: contact === undefined ? undefined : { contact },
        passThrough: true,
        signal,
        // As add reads them: COUNTRY is of the lists that are sent to.
        rules: { anyForm: true },
      });
      const list = new DoNotSendList(redis, keys, sealing);
      try {
        await use(source, { ...open, list, room: new MemoryRoom(redis, 'lists'), recorded });
      } finally {
        await source.close?.();
      }
    }),
  );
}
