import type { Command } from 'commander';
import type { CommandContext } from './command-context.ts';

/** Makes the command for what surrounds this run. */
type MakeCommand = (context: CommandContext) => Command;

/** As commander names them. */
const VERSION_FLAGS: ReadonlySet<string> = new Set(['-V', '--version']);

/** A command, before it is loaded. */
interface Entry {
  /** Heading in the help. */
  readonly group: string;
  /** A command line, for its own help. */
  readonly example: string;
  readonly load: () => Promise<MakeCommand>;
}

/**
 * The commands by name, in the order of the help. Each is loaded when it is needed: all of them together
 * take several times as long to load as most of them take to run.
 */
const COMMANDS: Readonly<Record<string, Entry>> = {
  send: {
    group: 'Single notices:',
    example: 'notices send --template ORDER_SHIPPED --contact 01012345678 --var var1=Kim',
    load: async () => (await import('./notices/send.ts')).sendCommand,
  },
  show: {
    group: 'Single notices:',
    example: 'notices show --key order-1001-shipped',
    load: async () => (await import('./notices/show.ts')).showCommand,
  },
  find: {
    group: 'Single notices:',
    example: 'notices find 01012345678',
    load: async () => (await import('./notices/find.ts')).findCommand,
  },
  erase: {
    group: 'Single notices:',
    example: "notices erase 01012345678 --why 'request of the person'",
    load: async () => (await import('./notices/erase.ts')).eraseCommand,
  },
  unknown: {
    group: 'Single notices:',
    example: 'notices unknown --json',
    load: async () => (await import('./notices/unknown.ts')).unknownCommand,
  },
  resolve: {
    group: 'Single notices:',
    example: 'notices resolve --batch spring --as resend --why "the service lost them"',
    load: async () => (await import('./notices/resolve.ts')).resolveCommand,
  },
  import: {
    group: 'Batches:',
    example:
      'notices import customers.csv --template ORDER_SHIPPED --map contact=phone,var1=name --wait',
    load: async () => (await import('./batches/import.ts')).importCommand,
  },
  batches: {
    group: 'Batches:',
    example: 'notices batches --limit 10',
    load: async () => (await import('./batches/show-batches.ts')).batchesCommand,
  },
  batch: {
    group: 'Batches:',
    example: 'notices batch spring',
    load: async () => (await import('./batches/show-batches.ts')).batchCommand,
  },
  pause: {
    group: 'Batches:',
    example: 'notices pause spring',
    load: async () => (await import('./batches/batch-control.ts')).pauseCommand,
  },
  resume: {
    group: 'Batches:',
    example: 'notices resume spring',
    load: async () => (await import('./batches/batch-control.ts')).resumeCommand,
  },
  cancel: {
    group: 'Batches:',
    example: 'notices cancel spring',
    load: async () => (await import('./batches/cancel.ts')).cancelCommand,
  },
  failures: {
    group: 'Batches:',
    example: 'notices failures spring --state rejected --csv',
    load: async () => (await import('./batches/failures.ts')).failuresCommand,
  },
  redrive: {
    group: 'Batches:',
    example: 'notices redrive spring --state rejected --code INVALID_TEMPLATE',
    load: async () => (await import('./batches/redrive.ts')).redriveCommand,
  },
  events: {
    group: 'Single notices:',
    example: 'notices events --follow --json',
    load: async () => (await import('./notices/events.ts')).eventsCommand,
  },
  delete: {
    group: 'Single notices:',
    example: 'notices delete --notices --code INVALID_TEMPLATE',
    load: async () => (await import('./notices/failed-notices.ts')).deleteCommand,
  },
  status: {
    group: 'Account:',
    example: 'notices status --watch 5',
    load: async () => (await import('./account/status.ts')).statusCommand,
  },
  hold: {
    group: 'Account:',
    example: 'notices hold place --why "the text is being checked"',
    load: async () => (await import('./account/hold.ts')).holdCommand,
  },
  'rate-limit': {
    group: 'Account:',
    example: 'notices rate-limit 50 --why "the service asked for it"',
    load: async () => (await import('./account/rate-limit.ts')).rateLimitCommand,
  },
  alerts: {
    group: 'Account:',
    example: 'notices alerts test',
    load: async () => (await import('./account/alerts.ts')).alertsCommand,
  },
  audit: {
    group: 'Account:',
    example: 'notices audit --limit 20',
    load: async () => (await import('./account/audit.ts')).auditCommand,
  },
  restored: {
    group: 'Account:',
    example: 'notices restored show --csv',
    load: async () => (await import('./account/restored.ts')).restoredCommand,
  },
  doctor: {
    group: 'Account:',
    example: 'notices doctor --strict',
    load: async () => (await import('./doctor/doctor.ts')).doctorCommand,
  },
  config: {
    group: 'Account:',
    example: 'notices config --producer',
    load: async () => (await import('./account/config.ts')).configCommand,
  },
  worker: {
    group: 'Processes:',
    example: 'notices worker --processes 2',
    load: async () => (await import('./processes/worker.ts')).workerCommand,
  },
  ops: {
    group: 'Processes:',
    example: 'notices ops serve',
    load: async () => (await import('./processes/ops.ts')).opsCommand,
  },
  emulator: {
    group: 'Processes:',
    example: 'notices emulator --port 4010',
    load: async () => (await import('./processes/emulator.ts')).emulatorCommand,
  },
  completion: {
    group: 'Commands:',
    example: 'notices completion bash > ~/.notices-completion',
    load: async () => (await import('./completion.ts')).completionCommand,
  },
};

/** Commands that need all others. */
const NEED_ALL: ReadonlySet<string> = new Set(['completion']);

/**
 * Loads what a command line needs: its command; none for the version; all for the help, for shell
 * completion, and to suggest the nearest name in place of an unknown one.
 */
export async function loadCommands(
  args: readonly string[],
  context: CommandContext,
): Promise<Command[]> {
  const name = args.find((arg) => !arg.startsWith('-'));
  if (name === undefined && args.some((arg) => VERSION_FLAGS.has(arg))) return [];
  const isOne = name !== undefined && Object.hasOwn(COMMANDS, name) && !NEED_ALL.has(name);
  const one = isOne ? COMMANDS[name] : undefined;
  const entries = one === undefined ? Object.values(COMMANDS) : [one];
  return Promise.all(
    entries.map(async ({ group, example, load }) =>
      (await load())(context).helpGroup(group).addHelpText('after', `\nExample:\n  ${example}`),
    ),
  );
}
