import { Command, Option } from 'commander';
import type { AlertConfig, Config } from '../../config/config.ts';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { type CommandContext, aborted, untilStopped } from '../command-context.ts';
import { shortText, wholeNumber } from '../arguments.ts';
import { readConfig, withLedger } from '../open-queue.ts';
import { print, table } from '../output.ts';
import { UsageError } from '../usage-error.ts';

/** Names of the webhooks, which are also those of their keys. */
const WEBHOOKS = ['alerts', 'events'] as const;

/** `notices alerts`: tests the webhooks, shows and repeats what they got; watches in a process of its own. */
export function alertsCommand(context: CommandContext): Command {
  return new Command('alerts')
    .addCommand(testCommand(context))
    .addCommand(listCommand(context))
    .addCommand(replayCommand(context))
    .addCommand(watchCommand(context));
}

function testCommand(context: CommandContext): Command {
  return new Command('test')
    .description(
      'post one signed test alert to ALERT_WEBHOOK_URL; exit with 1 if the receiver rejects it',
    )
    .addOption(
      new Option('--webhook <name>', 'events: post to EVENT_WEBHOOK_URL')
        .choices(WEBHOOKS)
        .default('alerts'),
    )
    .action(async ({ webhook: name }: { webhook: WebhookName }, command: Command) => {
      const config = await readConfig(context);
      const [{ alertEvent }, { ALERTS }, { Webhook }] = await Promise.all([
        import('../../ops/alerts/alert-store.ts'),
        import('../../ops/alerts/alert-event.ts'),
        import('../../ops/alerts/webhook.ts'),
      ]);
      const settings = configured(config, name).webhooks[name];
      if (settings === undefined) throw notSet(name);
      const webhook = new Webhook(settings);
      const { meaning, remedy } = ALERTS.test;
      const draft = { event: 'test', title: meaning, remedy, data: {} } as const;
      const alert = alertEvent(draft, queueName(config), Date.now());
      try {
        const posted = await webhook.post({ id: alert.id, body: JSON.stringify(alert) });
        print(context, command, { id: alert.id, ...posted }, () => [
          posted.taken
            ? `The receiver accepted the alert ${alert.id} (HTTP ${posted.status}).`
            : `The receiver did not accept it (${posted.why}). Check ${VARIABLE[name]}_URL and its secret at the receiver.`,
        ]);
        if (!posted.taken) context.end(1);
      } finally {
        await webhook.close();
      }
    });
}

function watchCommand(context: CommandContext): Command {
  return new Command('watch')
    .description(
      'watch for alerts and post them, until SIGTERM or SIGINT; unlike workers it also detects that all workers are gone',
    )
    .action(async () => {
      const config = await readConfig(context);
      const settings = configured(config, 'alerts');
      const [{ createAlertWatch }, { createLogger }, { connectRedis }, { keysOf }] =
        await Promise.all([
          import('../../ops/alerts/alert-watch.ts'),
          import('../../logging/logger.ts'),
          import('../../redis/connect.ts'),
          import('../../redis/keys.ts'),
        ]);
      const log = createLogger(config);
      const redis = connectRedis(config.redis, 'worker', () => {});
      const watch = createAlertWatch(
        redis,
        keysOf(config.redis.prefix, config.account),
        {
          ...settings,
          keepFailedMs: config.worker.keepFailedMs,
          queue: queueName(config),
        },
        log,
        false,
      );
      await watch.start();
      await untilStopped(context, aborted);
      await watch.stop();
      redis.disconnect();
    });
}

function configured({ alerts }: Config, name: WebhookName): AlertConfig {
  if (alerts !== undefined) return alerts;
  throw notSet(name);
}

type WebhookName = (typeof WEBHOOKS)[number];

const VARIABLE = {
  alerts: 'ALERT_WEBHOOK',
  events: 'EVENT_WEBHOOK',
} as const satisfies Record<WebhookName, string>;

const notSet = (name: WebhookName) =>
  new NoticeQueueError(
    'CONFIG_INVALID',
    `${VARIABLE[name]}_URL and ${VARIABLE[name]}_SECRET are not set, so ${name} cannot be posted.`,
  );

const queueName = ({ redis, account }: Config) => `${redis.prefix}:${account}`;

/** `notices alerts list`: what waits for the webhooks, and what they got. */
function listCommand(context: CommandContext): Command {
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
                ...all.map((one) => [one.at, one.webhook, one.as, one.event, one.id, one.title]),
              ]),
        );
      }),
    );
}

/** `notices alerts replay`: posts one again. */
function replayCommand(context: CommandContext): Command {
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
