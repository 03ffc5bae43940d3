import { Command } from 'commander';
import { readAudit } from '../../ops/audit.ts';
import { wholeNumber } from '../arguments.ts';
import type { CommandContext } from '../command-context.ts';
import { withLedger } from '../open-ledger.ts';
import { print, table } from '../output.ts';

/** `notices audit`: who placed and lifted holds, steered batches, sent again, and decided on unknown outcomes. */
export function auditCommand(context: CommandContext): Command {
  return new Command('audit')
    .description('what people did by hand, the newest first')
    .option('--limit <n>', 'entries at most', wholeNumber(1, 20_000), 100)
    .action(({ limit }: { limit: number }, command: Command) =>
      withLedger(context, async ({ redis, keys }) => {
        const entries = await readAudit(redis, keys, limit);
        print(context, command, entries, () =>
          entries.length === 0
            ? ['nothing was done by hand']
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
