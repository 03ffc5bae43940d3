import type { Command } from 'commander';
import { SUPPRESS_REASONS, type SuppressReason } from '../../contracts/suppression.ts';
import { COUNTRIES } from '../../format/country.ts';
import { countOf, formatCount } from '../../format/format.ts';
import { appendAudit } from '../../ops/audit.ts';
import { DoNotSendList, type NumberToAdd } from '../../suppression/do-not-send.ts';
import {
  addAll,
  differenceTo,
  printsOfAll,
  removeAll,
  storedSuppressions,
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
}

/** Maximum number of refused rows that are named. */
const MAX_SHOWN = 5;

/** A file of numbers. Rows that have none are counted, and the first are named. */
class NumberFile {
  readonly #name: string;
  readonly #flags: FileFlags;
  readonly #config: OpenLedger['config'];
  rows = 0;
  refused = 0;
  readonly problems: string[] = [];

  constructor(name: string, flags: FileFlags, config: OpenLedger['config']) {
    this.#name = name;
    this.#flags = flags;
    this.#config = config;
  }

  async *numbers(signal: AbortSignal): AsyncGenerator<NumberToAdd> {
    const { openSource } = await import('../../batch/source/open-source.ts');
    const { delimiter, encoding, contact } = this.#flags;
    const { country } = this.#config.queue;
    [this.rows, this.refused] = [0, 0];
    this.problems.length = 0;
    const source = await openSource(this.#name, {
      format: undefined,
      delimiter: delimiter ?? ',',
      encoding: encoding ?? 'utf-8',
      header: true,
      map: contact === undefined ? undefined : { contact },
      passThrough: true,
      signal,
      // What is on no phone is never sent to, either.
      rules: {
        allowImplausible: true,
        ...(country === undefined ? {} : { country: COUNTRIES[country] }),
      },
    });
    try {
      const { rows } = await source.read();
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
      await source.verify?.();
    } finally {
      await source.close?.();
    }
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
  return run(context, flags, async (open, { list, audited }, signal) => {
    const file = new NumberFile(name, flags, open.config);
    const added = await addAll(list, file.numbers(signal));
    await audited('imported', added);
    const { rows, refused, problems } = file;
    const answer = { rows, added, refused, listed: await list.count() };
    print(context, command, answer, () => [
      `${countOf(rows, 'row')}: ${formatCount(added)} added, ${formatCount(refused)} refused.`,
      ...problems,
    ]);
    if (refused > 0) context.end(1);
  });
}

/** `notices suppress sync FILE`: shows what would change and asks. Nothing changes where a row is refused. */
export function syncList(
  context: CommandContext,
  command: Command,
  name: string,
  flags: FileFlags,
): Promise<void> {
  return run(context, flags, async (open, { list, audited }, signal) => {
    const file = new NumberFile(name, flags, open.config);
    const wanted = await printsOfAll(list, file.numbers(signal));
    if (file.refused > 0) {
      throw new UsageError(
        `${name}: ${countOf(file.refused, 'row')} refused, such as ${file.problems[0] ?? ''}; nothing was changed`,
      );
    }
    const { toAdd, toRemove } = await differenceTo(open.redis, open.keys, wanted);
    const question = `Add ${countOf(toAdd, 'number')} to the do-not-send list and remove ${formatCount(toRemove.length)}?`;
    if (toAdd + toRemove.length > 0 && !(await agreed(context, question, flags.yes))) return;
    const added = await addAll(list, file.numbers(signal));
    const removed = await removeAll(list, toRemove);
    await audited('synced', added + removed);
    const answer = { rows: file.rows, added, removed, listed: await list.count() };
    print(context, command, answer, () => [
      `${formatCount(added)} added, ${formatCount(removed)} removed.`,
    ]);
  });
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
  readonly audited: (as: string, contacts?: number) => Promise<void>;
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
      const what = 'suppress';
      const entry = { who: currentUser(), why, what, target: 'do-not-send list' } as const;
      const audited = (as: string, contacts?: number) =>
        appendAudit(redis, keys, {
          ...entry,
          as,
          ...(contacts === undefined ? {} : { contacts }),
        });
      return use(open, { list, audited }, signal);
    }),
  );
}
