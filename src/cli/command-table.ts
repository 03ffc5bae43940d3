import type { Command } from 'commander';
import type { Operation } from '../ops/operations/operation.ts';
import type { CommandContext } from './command-context.ts';

/** Makes the command for what surrounds this run. */
type MakeCommand = (context: CommandContext) => Command;

/** A command, before it is loaded. */
export interface CommandEntry {
  /** Heading in the help. */
  readonly group: string;
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

/** The commands by name, in the order of the help. What each of them runs is loaded when it runs. */
export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  send: {
    group: 'Single notices:',
    example: 'notices send --template ORDER_SHIPPED --contact 01012345678 --var var1=Kim',
    load: async () => (await import('./notices/send.ts')).sendCommand,
  },
  show: {
    group: 'Single notices:',
    example: 'notices show --key order-1001-shipped',
    load: async () => (await noticeCommands()).showCommand,
  },
  find: {
    group: 'Single notices:',
    example: 'notices find 01012345678',
    load: async () => made((await numberOperations()).find),
  },
  erase: {
    group: 'Single notices:',
    example: "notices erase 01012345678 --why 'request of the person'",
    load: async () => made((await numberOperations()).erase),
  },
  waiting: {
    group: 'Single notices:',
    example: 'notices waiting --template ORDER_SHIPPED --within 2h',
    load: async () => made((await import('../ops/operations/waiting.ts')).listWaiting),
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
    load: async () => made((await batchOperations()).batches),
  },
  batch: {
    group: 'Batches:',
    example: 'notices batch spring',
    load: async () => (await import('./batches/show-batches.ts')).batchCommand,
  },
  pause: {
    group: 'Batches:',
    example: 'notices pause spring',
    load: async () => made((await batchOperations()).pauseBatch),
  },
  resume: {
    group: 'Batches:',
    example: 'notices resume spring',
    load: async () => made((await batchOperations()).resumeBatch),
  },
  rate: {
    group: 'Batches:',
    example: 'notices rate spring --spread 4h',
    load: async () => made((await batchOperations()).changeBatchRate),
  },
  cancel: {
    group: 'Batches:',
    example: 'notices cancel --template ORDER_SHIPPED --within 2h',
    load: async () => (await noticeCommands()).cancelCommand,
  },
  results: {
    group: 'Batches:',
    example: 'notices results spring customers.csv > results.csv',
    load: async () => (await import('./batches/results.ts')).resultsCommand,
  },
  failures: {
    group: 'Not accepted:',
    example: 'notices failures spring --state rejected --csv',
    load: async () => made((await import('../ops/operations/failures.ts')).failures),
  },
  decide: {
    group: 'Not accepted:',
    example: 'notices decide --batch spring --as resend --code INVALID_TEMPLATE',
    load: async () => made((await import('../ops/operations/decide.ts')).decideFailures),
  },
  events: {
    group: 'Single notices:',
    example: 'notices events list --follow --json',
    load: async () => (await import('./account/events.ts')).eventsCommand,
  },
  status: {
    group: 'Account:',
    example: 'notices status',
    load: async () => (await accountCommands()).statusCommand,
  },
  hold: {
    group: 'Account:',
    example: 'notices hold place --why "the text is being checked"',
    load: async () => (await accountCommands()).holdCommand,
  },
  'rate-limit': {
    group: 'Account:',
    example: 'notices rate-limit 50 --why "the service asked for it"',
    load: async () => (await accountCommands()).rateLimitCommand,
  },
  audit: {
    group: 'Account:',
    example: 'notices audit --limit 20',
    load: async () => made((await import('../ops/operations/account.ts')).audit),
  },
  restored: {
    group: 'Account:',
    example: 'notices restored show --csv',
    load: async () => (await accountCommands()).restoredCommand,
  },
  suppress: {
    group: 'Account:',
    example: 'notices suppress add 01012345678 --reason complaint',
    load: async () => (await import('./suppress/suppress-commands.ts')).suppressCommand,
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
    example: 'notices worker',
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
};
