import type { Command } from 'commander';
import { SUPPRESS_REASONS, type SuppressReason } from '../../contracts/suppression.ts';
import type { OpenSource } from '../../batch/source/open-source.ts';
import { countOf, formatCount } from '../../format/format.ts';
import { appendAudit } from '../../ops/audit.ts';
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
import { withLedger, type OpenLedger } from '../open-queue.ts';
import { print, saysExported, writeOut } from '../output.ts';

export interface FileFlags extends ReadingFlags {
  readonly contact?: string;
  readonly why?: string | undefined;
  readonly yes?: boolean;
  readonly allowRemoving?: number;
}

/** Maximum number of refused rows that are named. */
const MAX_SHOWN = 5;

/** A file of numbers. Rows that have none are counted, and the first are named. */
class NumberFile {
  readonly #source: OpenSource;
  rows = 0;
  refused = 0;
  readonly problems: string[] = [];

  private constructor(source: OpenSource) {
    this.#source = source;
  }

  static async open(
    { stdin }: Pick<CommandContext, 'stdin'>,
    name: string,
    { delimiter, encoding, contact }: FileFlags,
    signal: AbortSignal,
  ): Promise<NumberFile> {
    const { openSource } = await import('../../batch/source/open-source.ts');
    const source = await openSource(name === '-' ? stdin : name, {
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
    return new NumberFile(source);
  }

  /**
   * Reads them, from the beginning.
   * @throws NoticeQueueError SOURCE_INVALID where the file was written since it was opened
   */
  async *numbers(): AsyncGenerator<NumberToAdd> {
    [this.rows, this.refused] = [0, 0];
    this.problems.length = 0;
    await this.#source.verify?.();
    const { rows } = await this.#source.read();
    for (let next = await rows.next(); next.done !== true; next = await rows.next()) {
      for (const part of next.value) {
        if (!('check' in part)) {
          const from = part.from === 0 ? 0 : (part.block.ends[part.from - 1] ?? 0);
          // Each starts with a comma.
          const json = part.block.json.toString('utf8', from + 1, part.block.ends[part.to - 1]);
          for (const one of JSON.parse(`[${json}]`) as NumberRow[]) yield this.#taken(one);
        } else if (part.check.kind === 'contact') {
          yield this.#taken(JSON.parse(part.check.json) as NumberRow, part.row);
        } else this.#refuse(part.row, part.check.reason);
      }
    }
    await this.#source.verify?.();
  }

  async close(): Promise<void> {
    await this.#source.close?.();
  }

  #taken({ contact, reason = '' }: NumberRow, row = this.rows + 1): NumberToAdd {
    this.rows += 1;
    const known = SUPPRESS_REASONS.find((one) => one === String(reason).trim().toLowerCase());
    if (known === undefined && String(reason).trim() !== '') {
      this.#note(
        `row ${row}: expected ${SUPPRESS_REASONS.join(', ')} as the reason; "other" is taken`,
      );
    }
    const fallback: SuppressReason = String(reason).trim() === '' ? 'opt-out' : 'other';
    return { number: contact, reason: known ?? fallback };
  }

  #refuse(row: number, reason: string): void {
    this.rows += 1;
    this.refused += 1;
    this.#note(`row ${row}: ${reason}`);
  }

  #note(text: string): void {
    if (this.problems.length < MAX_SHOWN) this.problems.push(text);
  }
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
  return withFile(context, name, flags, async (file, _, { list, room, recorded }) => {
    const { added } = await recorded('imported', async (done) => {
      await addAll(list, file.numbers(), room, done);
    });
    const { rows, refused, problems } = file;
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
  await withFile(context, name, flags, async (file, open, { list, room, recorded }) => {
    const wanted = await printsOfAll(list, file.numbers());
    if (file.refused > 0) {
      throw new UsageError(
        `${name}: ${countOf(file.refused, 'row')} refused, such as ${file.problems[0] ?? ''}; nothing was changed`,
      );
    }
    if (file.rows === 0) throw noNumbers(name);
    const { toAdd, toRemove } = await differenceTo(open.redis, open.keys, wanted);
    if (flags.yes === true) refuseLoss(toRemove.length, await list.count(), flags.allowRemoving);
    const question = `Add ${countOf(toAdd, 'number')} to the do-not-send list and remove ${formatCount(toRemove.length)}?`;
    if (toAdd + toRemove.length > 0 && !(await agreed(context, question, flags.yes))) return;
    const { added, removed } = await recorded('synced', async (done) => {
      await addAll(list, file.numbers(), room, done);
      await removeAll(list, toRemove, done);
    });
    const answer = { rows: file.rows, added, removed, listed: await list.count() };
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
export function exportList(context: CommandContext, why: string | undefined): Promise<void> {
  return run(context, { why }, async ({ redis, keys }, { audited }) => {
    await audited('exported');
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

/** The list, and how what was done with it is recorded. */
interface Tools {
  readonly list: DoNotSendList;
  readonly room: MemoryRoom;
  readonly audited: (as: string, contacts?: number) => Promise<void>;
  /** Runs what changes the list, and records how much it did, also where it is stopped or fails. */
  readonly recorded: (as: string, use: (done: Done) => Promise<void>) => Promise<Done>;
}

/** Opens the list, and runs a command on it until it is stopped. */
async function run(
  context: CommandContext,
  { why = '' }: Pick<FileFlags, 'why'>,
  use: (open: OpenLedger, tools: Tools, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  await untilStopped(context, (signal) =>
    withLedger(context, (open) => {
      const { redis, keys, sealing } = open;
      const list = new DoNotSendList(redis, keys, sealing);
      const audited = (as: string, contacts?: number) =>
        appendAudit(
          open,
          { who: currentUser(), why },
          {
            what: 'suppress',
            target: 'do-not-send list',
            as,
            ...(contacts === undefined ? {} : { contacts }),
          },
        );
      const recorded: Tools['recorded'] = async (as, change) => {
        const done = { added: 0, removed: 0 };
        try {
          await change(done);
        } finally {
          await audited(as, done.added + done.removed);
        }
        return done;
      };
      const room = new MemoryRoom(redis, 'lists');
      return use(open, { list, room, audited, recorded }, signal);
    }),
  );
}

/** The same, with a file of numbers. */
function withFile(
  context: CommandContext,
  name: string,
  flags: FileFlags,
  use: (file: NumberFile, open: OpenLedger, tools: Tools) => Promise<void>,
): Promise<void> {
  return run(context, flags, async (open, tools, signal) => {
    const file = await NumberFile.open(context, name, flags, signal);
    try {
      await use(file, open, tools);
    } finally {
      await file.close();
    }
  });
}
