import { Command } from 'commander';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { terminalLine } from '../../format/format.ts';
import { eventRow, listEvents, replayEvents } from '../../ops/operations/account.ts';
import { untilStopped, type CommandContext } from '../command-context.ts';
import { readConfig, withLedger } from '../open-queue.ts';
import { operationCommand } from '../operation-command.ts';
import { print, wantsJson, writeAll, writeJsonLine } from '../output.ts';
import { runOperation } from '../run-operation.ts';

/** `notices events`: events of the account, oldest first; tests the webhook, and posts events again. */
export const eventsCommand = (context: CommandContext): Command =>
  new Command('events')
    .description('Lists events, or follows them; tests the webhook, and posts events again.')
    .addCommand(listCommand(context), { isDefault: true })
    .addCommand(testCommand(context))
    .addCommand(operationCommand(context, replayEvents));

function listCommand(context: CommandContext): Command {
  const command = operationCommand(context, listEvents)
    .description('The events of the account, oldest first (default).')
    .option('--follow', 'go on with new events, one per line, until Ctrl-C or --limit');
  type Flags = Readonly<Record<'from' | 'limit', string | undefined>> & {
    readonly follow?: boolean;
  };
  return command.action(async ({ from = '0', limit, follow }: Flags) => {
    if (follow !== true) {
      await runOperation(context, command, listEvents, { from, limit });
      return;
    }
    const { redis } = await readConfig(context);
    await withLedger(context, async ({ keys }) => {
      const { accountEvents } = await import('../../events/follow.ts');
      const json = wantsJson(command);
      await untilStopped(context, async (signal) => {
        let left = limit === undefined ? Infinity : Number(limit);
        for await (const event of accountEvents(redis, keys, { from, signal })) {
          const isRead = json
            ? await writeJsonLine(context.stdout, event)
            : await writeAll(context.stdout, `${terminalLine(eventRow(event).join('  '))}\n`);
          if (!isRead || --left === 0) return;
        }
      });
    });
  });
}

function testCommand(context: CommandContext): Command {
  return new Command('test')
    .description(
      'Posts a signed test to EVENT_WEBHOOK_URL; ends with 1 if the receiver refuses it.',
    )
    .action(async (_: unknown, command: Command) => {
      const { events, redis, account } = await readConfig(context, 'events');
      if (events === undefined) {
        throw new NoticeQueueError(
          'CONFIG_INVALID',
          'EVENT_WEBHOOK_URL and EVENT_WEBHOOK_SECRET are not set, so nothing can be posted.',
        );
      }
      const { Webhook } = await import('../../events/webhook.ts');
      const webhook = new Webhook(events, `${redis.prefix}:${account}`);
      try {
        const posted = await webhook.post({ events: [], missed: false });
        print(context, command, posted, () => [
          posted.taken
            ? `The receiver accepted the test (HTTP ${posted.status}).`
            : `The receiver did not accept it (${posted.why}). Check EVENT_WEBHOOK_URL and its secret at the receiver.`,
        ]);
        if (!posted.taken) context.end(1);
      } finally {
        await webhook.close();
      }
    });
}
