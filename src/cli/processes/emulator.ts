import { once } from 'node:events';
import { Command, Option } from 'commander';
import { EMULATOR_DEFAULTS } from '../../emulator/options.ts';
import type { EmulatorOptions } from '../../emulator/options.ts';
import { collect, duration, optionFor, wholeNumber } from '../arguments.ts';
import { UsageError, type CommandContext, untilStopped } from '../command-context.ts';
import { print } from '../output.ts';

const MAX_MS = 2_147_483_647;

type EmulatorFlags = EmulatorOptions & { readonly pending?: boolean };

/** `notices emulator`: runs until SIGTERM or SIGINT. */
export function emulatorCommand(context: CommandContext): Command {
  const defaults = EMULATOR_DEFAULTS;
  return new Command('emulator')
    .description('Runs an emulator of the messaging service that can inject faults.')
    .option('--host <address>', 'address to listen on', defaults.host)
    .option('--port <n>', 'port to listen on, 0 for a free one', wholeNumber(0, 65_535), 4010)
    .option('--access-key <key>', 'access key of the first app', defaults.accessKey)
    .option('--secret-key <key>', 'secret key of the first app', defaults.secretKey)
    .option('--pending', 'the first app is still pending approval')
    .addOption(
      optionFor(
        'allowlist',
        '--allow <address>',
        'address in the IP allowlist of the first app (repeatable)',
        collect,
      ),
    )
    .addOption(
      new Option('--token-mode <mode>', 'whether a new token invalidates the previous one')
        .choices(['single', 'many'])
        .default(defaults.tokenMode),
    )
    .option(
      '--token-lifetime-ms <duration>',
      'lifetime of a token',
      duration(1, MAX_MS, 'ms'),
      86_400_000,
    )
    .addOption(
      new Option('--show-expiry <where>', 'where a caller finds the expiry of a token')
        .choices(['none', 'answer', 'jwt'])
        .default(defaults.showExpiry),
    )
    .option('--latency-ms <duration>', 'delay of every response', duration(0, 3_600_000, 'ms'), 0)
    .addOption(
      optionFor(
        'maxContactsPerRequest',
        '--max-contacts <n>',
        'maximum number of contacts per send request',
        wholeNumber(1, 10_000_000),
      ),
    )
    .addOption(
      optionFor(
        'rejectContacts',
        '--reject-contact <number>',
        'phone number that gets its request rejected (repeatable)',
        collect,
      ),
    )
    .addOption(
      optionFor(
        'unknownTemplates',
        '--unknown-template <code>',
        'template code that does not exist (repeatable)',
        collect,
      ),
    )
    .option(
      '--control-key <key>',
      'what control requests must carry as X-Control-Key (env: EMULATOR_CONTROL_KEY)',
    )
    .addOption(
      optionFor(
        'faults',
        '--fault <fault>',
        'fault to inject as JSON, such as {"on":"send","status":503,"times":5} (repeatable)',
        withFault,
      ),
    )
    .action(async ({ pending, ...flags }: EmulatorFlags, command: Command) => {
      const { startEmulator } = await import('../../emulator/emulator.ts');
      const controlKey = flags.controlKey ?? context.env['EMULATOR_CONTROL_KEY'];
      const options = { ...flags, controlKey, approved: pending !== true };
      // Before the address is printed: a program that reads it may stop the emulator at once.
      await untilStopped(context, async (signal) => {
        const emulator = await startEmulator(options).catch(usage);
        print(
          context,
          command,
          { url: emulator.url, control: `${emulator.url}/control/record` },
          () => [`emulator at ${emulator.url}, its record at ${emulator.url}/control/record`],
        );
        if (!signal.aborted) await once(signal, 'abort');
        await emulator.close();
      });
      context.end(0);
    });
}

type Faults = NonNullable<EmulatorOptions['faults']>;

/** The emulator checks what the JSON is. */
function withFault(text: string, before: Faults = []): Faults {
  try {
    return [...before, JSON.parse(text) as Faults[number]];
  } catch {
    throw new UsageError('--fault: expected JSON');
  }
}

/** Errors of the emulator name the option; errors of Node.js name the problem with the address. */
function usage(error: unknown): never {
  throw new UsageError(error instanceof Error ? error.message : 'the emulator failed to start');
}
