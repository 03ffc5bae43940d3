import { Command } from 'commander';
import { wholeNumber } from '../arguments.ts';
import type { CommandContext } from '../command-context.ts';
import { withLedger } from '../open-queue.ts';
import { table } from '../../format/format.ts';
import { print } from '../output.ts';

/** `notices audit`: who placed and lifted holds, controlled batches, sent again, and resolved unknown outcomes. */
export function auditCommand(context: CommandContext): Command {
  return new Command('audit')
    .option('--limit <n>', 'maximum number of entries', wholeNumber(1, 20_000), 100)
    .action(({ limit }: { limit: number }, command: Command) =>
      withLedger(context, async ({ redis, keys }) => {
        const { readAudit } = await import('../../ops/audit.ts');
        const entries = await readAudit(redis, keys, limit);
        print(context, command, entries, () =>
          entries.length === 0
            ? ['No manual actions are recorded.']
            : table([
                ['AT', 'WHO', 'WHAT', 'TARGET', 'AS', 'CONTACTS', 'WHY'],
                ...entries.map(({ at, who, what, target, as, contacts, why }) => [
                  new Date(at).toISOString(),
                  who,
                  what,
                  target,
                  as,
                  String(contacts ?? ''),
                  why,
                ]),
              ]),
        );
      }),
    );
}
