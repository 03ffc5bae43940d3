import { Command, Option } from 'commander';
import type { Environment } from '../../config/environment.ts';
import { EMULATOR_DEFAULTS, type EmulatorOptions } from '../../emulator/options.ts';
import { startEmulator } from '../../emulator/emulator.ts';
import { parseFault } from '../../emulator/faults/parse-fault.ts';
import { gather, wholeNumber } from '../arguments.ts';
import type { CommandContext } from '../command-context.ts';
import { print } from '../output.ts';
import { aborted, untilStopped } from '../until-stopped.ts';
import { UsageError } from '../usage-error.ts';

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

/** `notices emulator`: runs until it is told to stop. */
export function emulatorCommand(context: CommandContext): Command {
  const defaults = EMULATOR_DEFAULTS;
  return new Command('emulator')
    .description('run a stand-in of the messaging service, with faults on demand')
    .option('--host <address>', 'address to listen on', defaults.host)
    .option('--port <n>', 'port to listen on, 0 for a free one', wholeNumber(0, 65_535), 4010)
    .option('--access-key <key>', 'access key of the first app', defaults.accessKey)
    .option('--secret-key <key>', 'secret key of the first app', defaults.secretKey)
    .option('--pending', 'the first app is pending approval')
    .option('--allow <address>', 'an address its IP allowlist holds (repeatable)', gather)
    .addOption(
      new Option('--token-mode <mode>', 'whether an issuance kills the token before it')
        .choices(['single', 'many'])
        .default(defaults.tokenMode),
    )
    .option('--token-lifetime-ms <ms>', 'life of a token', wholeNumber(1, MAX_MS), 86_400_000)
    .addOption(
      new Option('--show-expiry <where>', 'how a caller learns when a token ends')
        .choices(['none', 'answer', 'jwt'])
        .default(defaults.showExpiry),
    )
    .option('--latency-ms <ms>', 'every answer waits so long', wholeNumber(0, 3_600_000), 0)
    .option('--max-contacts <n>', 'most contacts of one send', wholeNumber(1, 10_000_000))
    .option('--reject-contact <number>', 'a number that spoils its request (repeatable)', gather)
    .option('--unknown-template <code>', 'a template that is not there (repeatable)', gather)
    .option(
      '--control-key <key>',
      'what control requests must carry as X-Control-Key (env: EMULATOR_CONTROL_KEY)',
    )
    .option('--fault <fault>', 'a fault, such as "send status=503 times=5" (repeatable)', gather)
    .action(async (flags: EmulatorFlags, command: Command) => {
      const emulator = await startEmulator(optionsFrom(flags, context.env)).catch(usage);
      print(
        context,
        command,
        { url: emulator.url, control: `${emulator.url}/control/record` },
        () => [`emulator at ${emulator.url}, its record at ${emulator.url}/control/record`],
      );
      await untilStopped(context, aborted);
      await emulator.close();
      context.end(0);
    });
}

function optionsFrom(flags: EmulatorFlags, env: Environment): EmulatorOptions {
  const {
    pending,
    allow,
    maxContacts,
    rejectContact,
    unknownTemplate,
    fault = [],
    ...rest
  } = flags;
  try {
    return {
      ...rest,
      controlKey: rest.controlKey ?? env['EMULATOR_CONTROL_KEY'],
      approved: pending !== true,
      allowlist: allow ?? [],
      maxContactsPerRequest: maxContacts,
      rejectContacts: rejectContact,
      unknownTemplates: unknownTemplate,
      faults: fault.map(parseFault),
    };
  } catch (error) {
    return usage(error);
  }
}

/** The emulator's own errors name the option; Node's name what the address is good for. */
function usage(error: unknown): never {
  throw new UsageError(error instanceof Error ? error.message : 'the emulator did not start');
}
