import type { Command } from 'commander';
import type { CommandHelp } from '../ops/operations/operation.ts';
import type { CommandContext } from './command-context.ts';

/** A command, before it is loaded. */
export interface CommandEntry extends CommandHelp {
  readonly load: () => Promise<(context: CommandContext) => Command>;
}

const noticeCommands = () => import('./notices/notice-commands.ts');
const accountCommands = () => import('./account/account-commands.ts');

/** The commands that are more than an operation, by name. What each of them runs is loaded when it runs. */
export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  send: {
    group: 'Single notices',
    example: 'notices send --template ORDER_SHIPPED --contact 01012345678 --var var1=Kim',
    load: async () => (await import('./notices/send.ts')).sendCommand,
  },
  show: {
    group: 'Single notices',
    example: 'notices show --key order-1001-shipped',
    load: async () => (await noticeCommands()).showCommand,
  },
  import: {
    group: 'Batches',
    example:
      'notices import customers.csv --template ORDER_SHIPPED --map contact=phone,var1=name --wait',
    load: async () => (await import('./batches/import.ts')).importCommand,
  },
  batch: {
    group: 'Batches',
    example: 'notices batch spring',
    load: async () => (await import('./batches/show-batches.ts')).batchCommand,
  },
  cancel: {
    group: 'Batches',
    example: 'notices cancel --template ORDER_SHIPPED --queued-after 2h',
    load: async () => (await noticeCommands()).cancelCommand,
  },
  results: {
    group: 'Batches',
    example: 'notices results spring customers.csv > results.csv',
    adds: 'With the file of the list, writes it after the columns of the file.',
    load: async () => (await import('./batches/results.ts')).resultsCommand,
  },
  events: {
    group: 'Single notices',
    example: 'notices events list --follow --json',
    load: async () => (await import('./account/events.ts')).eventsCommand,
  },
  status: {
    group: 'Account',
    example: 'notices status',
    load: async () => (await accountCommands()).statusCommand,
  },
  'rate-limit': {
    group: 'Account',
    example: 'notices rate-limit 50 --why "the service asked for it"',
    load: async () => (await accountCommands()).rateLimitCommand,
  },
  suppress: {
    group: 'Account',
    example: 'notices suppress add 01012345678 --reason complaint',
    load: async () => (await import('./suppress/suppress-commands.ts')).suppressCommand,
  },
  doctor: {
    group: 'Account',
    example: 'notices doctor --strict',
    load: async () => (await import('./doctor/doctor.ts')).doctorCommand,
  },
  config: {
    group: 'Account',
    example: 'notices config --producer',
    load: async () => (await import('./account/config.ts')).configCommand,
  },
  worker: {
    group: 'Processes',
    example: 'notices worker',
    load: async () => (await import('./processes/worker.ts')).workerCommand,
  },
  ops: {
    group: 'Processes',
    example: 'notices ops serve',
    load: async () => (await import('./processes/ops.ts')).opsCommand,
  },
  emulator: {
    group: 'Processes',
    example: 'notices emulator --port 4010',
    load: async () => (await import('./processes/emulator.ts')).emulatorCommand,
  },
};
