import { countOf } from '../format/format.ts';
import type { CommandContext } from './command-context.ts';
import { writeText } from './output.ts';

/** Says on standard error how many contacts, or rows, were written as CSV. */
export function saysExported(
  { stderr }: Pick<CommandContext, 'stderr'>,
  contacts: number,
  what = 'contact',
): void {
  writeText(
    stderr,
    contacts === 0 ? `No ${what} matches.\n` : `Exported ${countOf(contacts, what)}.\n`,
  );
}
