import type { Command } from 'commander';
import type { Operation } from '../ops/operations/operation.ts';
import type { CommandContext } from './command-context.ts';

/** Makes the command for what surrounds this run. */
type MakeCommand = (context: CommandContext) => Command;

/** A command, before it is loaded. */
export interface CommandEntry {
  /** Heading in the help. */
  readonly group: string;
  /** Its arguments, as the help of the program shows them. */
  readonly takes?: string;
  readonly description: string;
  /** A command line, for its own help. */
  readonly example: string;
  readonly load: () => Promise<MakeCommand>;
}

const noticeCommands = () => import('./notices/notice-commands.ts');
const accountCommands = () => import('./account/account-commands.ts');
const numberOperations = () => import('../ops/operations/number.ts');
const batchOperations = () => import('../ops/operations/batches.ts');

/** The command of an operation. */
async function made(row: Operation): Promise<MakeCommand> {
  const { operationCommand } = await import('./operation-command.ts');
  return (context) => operationCommand(context, row);
}

/**
 * The commands by name, in the order of the help, which is written from here. Each command is loaded when it is needed, and what it runs when it runs: all of it together takes several
 * times as long to load as most commands take to run.
 */
export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  send: {
    group: 'Single notices:',
    description: 'enqueue one notice',
    example: 'notices send --template ORDER_SHIPPED --contact 01012345678 --var var1=Kim',
    load: async () => (await import('./notices/send.ts')).sendCommand,
  },
  show: {
    group: 'Single notices:',
    takes: '[id]',
    description: 'show the state of a single notice, and why it waits or failed',
    example: 'notices show --key order-1001-shipped',
    load: async () => (await noticeCommands()).showCommand,
  },
  find: {
    group: 'Single notices:',
    takes: '<number>',
    description: 'show the outcome of notices for one phone number; exit with 1 if there are none',
    example: 'notices find 01012345678',
    load: async () => made((await numberOperations()).find),
  },
  erase: {
    group: 'Single notices:',
    takes: '<number>',
    description: 'erase what is stored about one phone number, after a preview',
    example: "notices erase 01012345678 --why 'request of the person'",
    load: async () => made((await numberOperations()).erase),
  },
  waiting: {
    group: 'Single notices:',
    description: 'sum up the single notices that wait, by template',
    example: 'notices waiting --template ORDER_SHIPPED --within 2h',
    load: async () => made((await import('../ops/operations/waiting.ts')).listWaiting),
  },
  import: {
    group: 'Batches:',
    takes: '<file>',
    description: 'import a contact list of any length as one batch',
    example:
      'notices import customers.csv --template ORDER_SHIPPED --map contact=phone,var1=name --wait',
    load: async () => (await import('./batches/import.ts')).importCommand,
  },
  batches: {
    group: 'Batches:',
    description: 'list the batches, newest first',
    example: 'notices batches --limit 10',
    load: async () => made((await batchOperations()).batches),
  },
  batch: {
    group: 'Batches:',
    takes: '<id>',
    description: 'show the state of a batch, why it is not sending, and what failed',
    example: 'notices batch spring',
    load: async () => (await import('./batches/show-batches.ts')).batchCommand,
  },
  pause: {
    group: 'Batches:',
    takes: '<id>',
    description: 'stop sending a batch; requests in flight finish',
    example: 'notices pause spring',
    load: async () => made((await batchOperations()).pauseBatch),
  },
  resume: {
    group: 'Batches:',
    takes: '<id>',
    description: 'resume a paused batch',
    example: 'notices resume spring',
    load: async () => made((await batchOperations()).resumeBatch),
  },
  rate: {
    group: 'Batches:',
    takes: '<id> [rate]',
    description: 'change the rate of a batch while it is sent, or spread it over a time',
    example: 'notices rate spring --spread 4h',
    load: async () => made((await batchOperations()).changeBatchRate),
  },
  cancel: {
    group: 'Batches:',
    takes: '[id]',
    description: 'end a batch permanently, or cancel single notices that wait',
    example: 'notices cancel --template ORDER_SHIPPED --within 2h',
    load: async () => (await noticeCommands()).cancelCommand,
  },
  results: {
    group: 'Batches:',
    takes: '<id> [file]',
    description:
      'show what became of each row of a list, or write it after the columns of its file',
    example: 'notices results spring customers.csv > results.csv',
    load: async () => (await import('./batches/results.ts')).resultsCommand,
  },
  failures: {
    group: 'Not accepted:',
    takes: '[batch]',
    description: 'show what was not accepted and why, of single notices or a batch; as CSV, too',
    example: 'notices failures spring --state rejected --csv',
    load: async () => made((await import('../ops/operations/failures.ts')).failures),
  },
  decide: {
    group: 'Not accepted:',
    takes: '[ids...]',
    description: 'send it again, count it as accepted, or give it up, after a preview',
    example: 'notices decide --batch spring --as resend --code INVALID_TEMPLATE',
    load: async () => made((await import('../ops/operations/decide.ts')).decideFailures),
  },
  events: {
    group: 'Single notices:',
    description: 'list events, oldest first; test and replay the webhook',
    example: 'notices events list --follow --json',
    load: async () => (await import('./account/events.ts')).eventsCommand,
  },
  status: {
    group: 'Account:',
    description: 'show what waits and why, what failed or is unknown, the hold, workers and Redis',
    example: 'notices status',
    load: async () => (await accountCommands()).statusCommand,
  },
  hold: {
    group: 'Account:',
    description: 'show the active hold of the account; place or lift a hold manually',
    example: 'notices hold place --why "the text is being checked"',
    load: async () => (await accountCommands()).holdCommand,
  },
  'rate-limit': {
    group: 'Account:',
    takes: '[rate-limit]',
    description: 'show the rate limit of the account, or set it while workers run',
    example: 'notices rate-limit 50 --why "the service asked for it"',
    load: async () => (await accountCommands()).rateLimitCommand,
  },
  audit: {
    group: 'Account:',
    description: 'list manual actions, newest first',
    example: 'notices audit --limit 20',
    load: async () => made((await import('../ops/operations/account.ts')).audit),
  },
  restored: {
    group: 'Account:',
    description: 'show what might be sent again because Redis holds an old copy of the queue',
    example: 'notices restored show --csv',
    load: async () => (await accountCommands()).restoredCommand,
  },
  suppress: {
    group: 'Account:',
    description: 'add, remove or check a number of the do-not-send list; import, sync or export it',
    example: 'notices suppress add 01012345678 --reason complaint',
    load: async () => (await import('./suppress/suppress-commands.ts')).suppressCommand,
  },
  doctor: {
    group: 'Account:',
    description:
      'check configuration, Redis, the service and the queue, and show how to fix problems',
    example: 'notices doctor --strict',
    load: async () => (await import('./doctor/doctor.ts')).doctorCommand,
  },
  config: {
    group: 'Account:',
    description: 'print the effective configuration, secrets masked, and its errors',
    example: 'notices config --producer',
    load: async () => (await import('./account/config.ts')).configCommand,
  },
  worker: {
    group: 'Processes:',
    description: 'run a worker that sends notices, until SIGTERM or SIGINT',
    example: 'notices worker',
    load: async () => (await import('./processes/worker.ts')).workerCommand,
  },
  ops: {
    group: 'Processes:',
    description: 'run the ops server (pages and HTTP API), until SIGTERM or SIGINT',
    example: 'notices ops serve',
    load: async () => (await import('./processes/ops.ts')).opsCommand,
  },
  emulator: {
    group: 'Processes:',
    description: 'run an emulator of the messaging service that can inject faults',
    example: 'notices emulator --port 4010',
    load: async () => (await import('./processes/emulator.ts')).emulatorCommand,
  },
};
