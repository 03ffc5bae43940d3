import type { Command } from 'commander';
import type { CommandContext } from './command-context.ts';

/** Makes the command for what surrounds this run. */
type MakeCommand = (context: CommandContext) => Command;

/** A command, before it is loaded. */
export interface CommandEntry {
  /** Heading in the help. */
  readonly group: string;
  /** Its arguments, as the help of the program shows them. */
  readonly takes?: string;
  /** Its subcommands and long flags, for shell completion. A test compares both with the command itself. */
  readonly words?: string;
  readonly description: string;
  /** A command line, for its own help. */
  readonly example: string;
  readonly load: () => Promise<MakeCommand>;
}

/**
 * The commands by name, in the order of the help. The help of the program and shell completion are written from
 * here. Each command is loaded when it is needed, and what it runs when it runs: all of it together takes several
 * times as long to load as most commands take to run.
 */
export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  send: {
    group: 'Single notices:',
    words:
      '--file --template --contact --var --schedule-type --chat-sender-key --sender-key --idempotency-key --delay --send-at --expires-at --priority --delivery --why',
    description: 'enqueue one notice',
    example: 'notices send --template ORDER_SHIPPED --contact 01012345678 --var var1=Kim',
    load: async () => (await import('./notices/send.ts')).sendCommand,
  },
  show: {
    group: 'Single notices:',
    takes: '[id]',
    words: '--key --api-key --wait',
    description: 'show the state of a single notice, and why it waits or failed',
    example: 'notices show --key order-1001-shipped',
    load: async () => (await import('./notices/show.ts')).showCommand,
  },
  find: {
    group: 'Single notices:',
    takes: '<number>',
    words: '--why',
    description: 'show the outcome of notices for one phone number; exit with 1 if there are none',
    example: 'notices find 01012345678',
    load: async () => (await import('./notices/find.ts')).findCommand,
  },
  erase: {
    group: 'Single notices:',
    takes: '<number>',
    words: '--why --yes',
    description: 'erase what is stored about one phone number, after a preview',
    example: "notices erase 01012345678 --why 'request of the person'",
    load: async () => (await import('./notices/erase.ts')).eraseCommand,
  },
  unknown: {
    group: 'Single notices:',
    words: '--csv --batch --chunk --code --template --older-than --number --why',
    description: 'list notices whose outcome is unknown: the service may have accepted them',
    example: 'notices unknown --json',
    load: async () => (await import('./notices/unknown.ts')).unknownCommand,
  },
  resolve: {
    group: 'Single notices:',
    takes: '[ids...]',
    words: '--as --all --by --yes --batch --chunk --code --template --older-than --number --why',
    description: 'resolve notices whose outcome is unknown, after a preview',
    example: 'notices resolve --batch spring --as resend --why "the service lost them"',
    load: async () => (await import('./notices/resolve.ts')).resolveCommand,
  },
  import: {
    group: 'Batches:',
    takes: '<file>',
    words:
      '--template --map --pass-through --batch --again --chunk --delivery --expires --rate --allow-duplicates --no-bisect --dry-run --format --delimiter --encoding --no-header --rejects --force --max-refused --high-water --schedule-type --chat-sender-key --sender-key --why --wait',
    description: 'import a contact list of any length as one batch',
    example:
      'notices import customers.csv --template ORDER_SHIPPED --map contact=phone,var1=name --wait',
    load: async () => (await import('./batches/import.ts')).importCommand,
  },
  batches: {
    group: 'Batches:',
    words: '--phase --within --since --before --limit',
    description: 'list the batches, newest first',
    example: 'notices batches --limit 10',
    load: async () => (await import('./batches/show-batches.ts')).batchesCommand,
  },
  batch: {
    group: 'Batches:',
    takes: '<id>',
    words: '--watch',
    description: 'show the state of a batch, why it is not sending, and what failed',
    example: 'notices batch spring',
    load: async () => (await import('./batches/show-batches.ts')).batchCommand,
  },
  pause: {
    group: 'Batches:',
    takes: '<id>',
    words: '--why',
    description: 'stop sending a batch; requests in flight finish',
    example: 'notices pause spring',
    load: async () => (await import('./batches/batch-control.ts')).pauseCommand,
  },
  resume: {
    group: 'Batches:',
    takes: '<id>',
    words: '--why',
    description: 'resume a paused batch',
    example: 'notices resume spring',
    load: async () => (await import('./batches/batch-control.ts')).resumeCommand,
  },
  cancel: {
    group: 'Batches:',
    takes: '[id]',
    words: '--key --api-key --release-key --why --yes',
    description: 'end a batch permanently, or cancel a single notice that waits',
    example: 'notices cancel spring',
    load: async () => (await import('./batches/cancel.ts')).cancelCommand,
  },
  failures: {
    group: 'Batches:',
    takes: '[id]',
    words: '--state --code --csv --template --older-than --possibly-sent --why',
    description:
      'show what was not accepted of a batch or, without an id, of single notices, and why',
    example: 'notices failures spring --state rejected --csv',
    load: async () => (await import('./batches/failures.ts')).failuresCommand,
  },
  redrive: {
    group: 'Batches:',
    takes: '[ids...]',
    words:
      '--notices --state --code --limit --rate --yes --template --older-than --possibly-sent --why',
    description: 'send what was not accepted again, of a batch or single notices, after a preview',
    example: 'notices redrive spring --state rejected --code INVALID_TEMPLATE',
    load: async () => (await import('./batches/redrive.ts')).redriveCommand,
  },
  events: {
    group: 'Single notices:',
    words: '--from --limit --follow',
    description: 'list events of single notices, oldest first (needs NOTICE_EVENTS at the workers)',
    example: 'notices events --follow --json',
    load: async () => (await import('./notices/events.ts')).eventsCommand,
  },
  delete: {
    group: 'Single notices:',
    takes: '[ids...]',
    words:
      '--notices --code --limit --release-key --yes --template --older-than --possibly-sent --why',
    description: 'delete rejected single notices, after a preview',
    example: 'notices delete --notices --code INVALID_TEMPLATE',
    load: async () => (await import('./notices/failed-notices.ts')).deleteCommand,
  },
  status: {
    group: 'Account:',
    words: '--worker --watch',
    description: 'show what waits and why, what failed or is unknown, the hold, workers and Redis',
    example: 'notices status --watch 5',
    load: async () => (await import('./account/status.ts')).statusCommand,
  },
  hold: {
    group: 'Account:',
    words: 'show place lift',
    description: 'show the active hold of the account; place or lift a hold manually',
    example: 'notices hold place --why "the text is being checked"',
    load: async () => (await import('./account/hold.ts')).holdCommand,
  },
  'rate-limit': {
    group: 'Account:',
    takes: '[limit]',
    words: '--why',
    description: 'show the rate limit of the account, or set it while workers run',
    example: 'notices rate-limit 50 --why "the service asked for it"',
    load: async () => (await import('./account/rate-limit.ts')).rateLimitCommand,
  },
  alerts: {
    group: 'Account:',
    words: 'test list replay watch',
    description:
      'post a test alert; list and replay alerts and events; watch outside of the workers',
    example: 'notices alerts test',
    load: async () => (await import('./account/alerts.ts')).alertsCommand,
  },
  audit: {
    group: 'Account:',
    words: '--limit',
    description: 'list manual actions, newest first',
    example: 'notices audit --limit 20',
    load: async () => (await import('./account/audit.ts')).auditCommand,
  },
  restored: {
    group: 'Account:',
    words: 'show park',
    description: 'show what might be sent again because Redis holds an old copy of the queue',
    example: 'notices restored show --csv',
    load: async () => (await import('./account/restored.ts')).restoredCommand,
  },
  doctor: {
    group: 'Account:',
    words: '--issue --no-dry-send --send --template --var --answer --contact --strict --why --yes',
    description:
      'check configuration, Redis, the service and the queue, and show how to fix problems',
    example: 'notices doctor --strict',
    load: async () => (await import('./doctor/doctor.ts')).doctorCommand,
  },
  config: {
    group: 'Account:',
    words: '--producer',
    description: 'print the effective configuration, secrets masked, and its errors',
    example: 'notices config --producer',
    load: async () => (await import('./account/config.ts')).configCommand,
  },
  worker: {
    group: 'Processes:',
    words: '--processes',
    description: 'run a worker that sends notices, until SIGTERM or SIGINT',
    example: 'notices worker --processes 2',
    load: async () => (await import('./processes/worker.ts')).workerCommand,
  },
  ops: {
    group: 'Processes:',
    words: 'serve hash-password new-key keys',
    description: 'run the ops server (pages and HTTP API), until SIGTERM or SIGINT',
    example: 'notices ops serve',
    load: async () => (await import('./processes/ops.ts')).opsCommand,
  },
  emulator: {
    group: 'Processes:',
    words:
      '--host --port --access-key --secret-key --pending --allow --token-mode --token-lifetime-ms --show-expiry --latency-ms --max-contacts --reject-contact --unknown-template --control-key --fault',
    description: 'run an emulator of the messaging service that can inject faults',
    example: 'notices emulator --port 4010',
    load: async () => (await import('./processes/emulator.ts')).emulatorCommand,
  },
  completion: {
    group: 'Commands:',
    takes: '<shell>',
    description: 'write a script that makes a shell complete commands and flags',
    example: 'notices completion bash > ~/.notices-completion',
    load: async () => (await import('./completion.ts')).completionCommand,
  },
};
