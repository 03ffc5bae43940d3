import { countOf } from '../format/format.ts';
import type { CommandContext } from './command-context.ts';
import { writeText } from './output.ts';

/** Says on standard error how many contacts were written as CSV. */
export function saysExported({ stderr }: Pick<CommandContext, 'stderr'>, contacts: number): void {
  writeText(
    stderr,
    contacts === 0 ? 'No contact matches.\n' : `Exported ${countOf(contacts, 'contact')}.\n`,
  );
}
