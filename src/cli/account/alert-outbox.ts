import { Command } from 'commander';
import { shortText, wholeNumber } from '../arguments.ts';
import type { CommandContext } from '../command-context.ts';
import { withLedger } from '../open-queue.ts';
import { print, table } from '../output.ts';
import { UsageError } from '../usage-error.ts';

/** Names of the webhooks, which are also those of their keys. */
export const WEBHOOKS = ['alerts', 'events'] as const;

/** `notices alerts list`: what waits for the webhooks, and what they got. */
export function listCommand(context: CommandContext): Command {
  return new Command('list')
    .description('list the newest alerts and events: waiting, posted or given up')
    .option('--limit <n>', 'maximum number for each webhook', wholeNumber(1, 1_000), 20)
    .action(({ limit }: { limit: number }, command: Command) =>
      withLedger(context, async ({ redis, keys }) => {
        const { Outbox } = await import('../../ops/alerts/outbox.ts');
        const lists = await Promise.all(
          WEBHOOKS.map(async (webhook) => {
            const found = await new Outbox(redis, keys[webhook]).list(limit);
            return found.map((alert) => ({ webhook, ...alert }));
          }),
        );
        const all = lists.flat();
        print(context, command, all, () =>
          all.length === 0
            ? ['Nothing waits, and nothing was posted.']
            : table([
                ['AT', 'WEBHOOK', 'STATE', 'EVENT', 'ID', 'TITLE'],
                ...all.map(({ at, webhook, as, event, id, title }) => [
                  at,
                  webhook,
                  as,
                  event,
                  id,
                  title,
                ]),
              ]),
        );
      }),
    );
}

/** `notices alerts replay`: posts one again. */
export function replayCommand(context: CommandContext): Command {
  return new Command('replay')
    .description('post an alert or event again that was posted or given up, with the same id')
    .argument('<id>', 'its id, as "notices alerts list" shows it', shortText(100))
    .action((id: string, _flags: object, command: Command) =>
      withLedger(context, async ({ redis, keys }) => {
        const { Outbox } = await import('../../ops/alerts/outbox.ts');
        for (const webhook of WEBHOOKS) {
          if (!(await new Outbox(redis, keys[webhook]).replay(id))) continue;
          print(context, command, { id, webhook }, () => [
            `${id} is posted again to the webhook of ${webhook}, after what waits for it.`,
          ]);
          return;
        }
        throw new UsageError(
          `No alert or event with the id ${id} is kept. The last 1,000 of each webhook are; "notices alerts list" shows them.`,
        );
      }),
    );
}
