import { Command, Option } from 'commander';
import type { Environment } from '../../config/environment.ts';
import { EMULATOR_DEFAULTS } from '../../emulator/options.ts';
import type { EmulatorOptions } from '../../emulator/options.ts';
import { collect, duration, wholeNumber } from '../arguments.ts';
import { UsageError, type CommandContext, aborted, untilStopped } from '../command-context.ts';
import { print } from '../output.ts';

const MAX_MS = 2_147_483_647;

interface EmulatorFlags {
  host: string;
  port: number;
  accessKey: string;
  secretKey: string;
  pending?: boolean;
  allow?: readonly string[];
  tokenMode: 'single' | 'many';
  tokenLifetimeMs: number;
  showExpiry: 'none' | 'answer' | 'jwt';
  latencyMs: number;
  maxContacts?: number;
  rejectContact?: readonly string[];
  unknownTemplate?: readonly string[];
  controlKey?: string;
  fault?: readonly string[];
}

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
    .option(
      '--allow <address>',
      'address in the IP allowlist of the first app (repeatable)',
      collect,
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
    .option(
      '--max-contacts <n>',
      'maximum number of contacts per send request',
      wholeNumber(1, 10_000_000),
    )
    .option(
      '--reject-contact <number>',
      'phone number that gets its request rejected (repeatable)',
      collect,
    )
    .option('--unknown-template <code>', 'template code that does not exist (repeatable)', collect)
    .option(
      '--control-key <key>',
      'what control requests must carry as X-Control-Key (env: EMULATOR_CONTROL_KEY)',
    )
    .option(
      '--fault <fault>',
      'fault to inject as JSON, such as {"on":"send","status":503,"times":5} (repeatable)',
      collect,
    )
    .action(async (flags: EmulatorFlags, command: Command) => {
      const { startEmulator } = await import('../../emulator/emulator.ts');
      const options = optionsFrom(flags, context.env);
      // Before the address is printed: a program that reads it may stop the emulator at once.
      await untilStopped(context, async (signal) => {
        const emulator = await startEmulator(options).catch(usage);
        print(
          context,
          command,
          { url: emulator.url, control: `${emulator.url}/control/record` },
          () => [`emulator at ${emulator.url}, its record at ${emulator.url}/control/record`],
        );
        await aborted(signal);
        await emulator.close();
      });
      context.end(0);
    });
}

function optionsFrom(
  {
    pending,
    allow,
    maxContacts,
    rejectContact,
    unknownTemplate,
    fault = [],
    ...rest
  }: EmulatorFlags,
  env: Environment,
): EmulatorOptions {
  return {
    ...rest,
    controlKey: rest.controlKey ?? env['EMULATOR_CONTROL_KEY'],
    approved: pending !== true,
    allowlist: allow ?? [],
    maxContactsPerRequest: maxContacts,
    rejectContacts: rejectContact,
    unknownTemplates: unknownTemplate,
    // The emulator checks it.
    faults: fault.map((text) => parsed(text) as NonNullable<EmulatorOptions['faults']>[number]),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError('--fault: expected JSON');
  }
}

/** Errors of the emulator name the option; errors of Node.js name the problem with the address. */
function usage(error: unknown): never {
  throw new UsageError(error instanceof Error ? error.message : 'the emulator failed to start');
}
