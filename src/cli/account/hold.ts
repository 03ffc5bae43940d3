import { Command } from 'commander';
import { HOLDS, isProbed, MAX_HOLD_REASON, type Hold } from '../../contracts/hold.ts';
import type { TemplateHold } from '../../fleet/hold/template-hold.ts';
import { writeTime } from '../../format/relative-time.ts';
import type { ExplainedHold } from '../../ops/manual-hold.ts';
import { shortText, whyOption } from '../arguments.ts';
import { currentUser, type CommandContext } from '../command-context.ts';
import { withLedger } from '../open-queue.ts';
import { print } from '../output.ts';

/** `notices hold`: shows the active hold; `place` and `lift` change it manually. */
export function holdCommand(context: CommandContext): Command {
  return new Command('hold')
    .addCommand(showCommand(context), { isDefault: true })
    .addCommand(placeCommand(context))
    .addCommand(liftCommand(context));
}

function showCommand(context: CommandContext): Command {
  return new Command('show')
    .description('show the active hold: reason, start, next probe, remedy')
    .action((_flags: object, command: Command) =>
      withLedger(context, async (open) => {
        const { holdInForce } = await import('../../ops/manual-hold.ts');
        const explained = await holdInForce(open);
        print(context, command, resultOf(explained), () => [describeHold(explained, Date.now())]);
      }),
    );
}

function placeCommand(context: CommandContext): Command {
  return new Command('place')
    .description('stop sending until the hold is lifted; requests in flight finish')
    .requiredOption(
      '--why <text>',
      'reason, shown wherever the hold is shown',
      shortText(MAX_HOLD_REASON),
    )
    .action(({ why }: { why: string }, command: Command) =>
      withLedger(context, async (open) => {
        const { placeAuditedHold } = await import('../../ops/manual-hold.ts');
        const { hold } = resultOf(await placeAuditedHold(open, { who: currentUser(), why }));
        print(context, command, { hold }, () => [
          hold?.kind === 'restored'
            ? 'Sending is on hold already, as an old copy of Redis: "notices restored" shows what to do. Nothing was placed.'
            : 'Sending is on hold. "notices hold lift" resumes it.',
        ]);
      }),
    );
}

function liftCommand(context: CommandContext): Command {
  return new Command('lift')
    .description('end the active hold; it returns by itself if its cause persists')
    .addOption(whyOption())
    .action(({ why = '' }: { why?: string }, command: Command) =>
      withLedger(context, async (open) => {
        const { liftAuditedHold } = await import('../../ops/manual-hold.ts');
        const lifted = await liftAuditedHold(open, { who: currentUser(), why });
        print(context, command, { lifted: lifted ?? null }, () => [
          lifted === undefined ? 'No hold was active.' : `Hold "${lifted}" lifted.`,
        ]);
      }),
    );
}

/** The JSON result: the hold, and next to it what it means. */
function resultOf(explained: ExplainedHold | undefined) {
  if (explained === undefined) return { hold: null };
  const { reason, remedy, ...hold } = explained;
  return { hold, reason, remedy };
}

/** Describes a hold in one line: kind, reason, duration, next probe, remedy. */
export function describeHold(hold: Hold | undefined, now: number): string {
  if (hold === undefined) return 'none';
  const { reason, remedy } = HOLDS[hold.kind];
  const since = writeTime(hold.since, now, (span) => `for ${span}`);
  const rest = hold.nextProbeAt - now;
  const probe = rest > 0 ? `next probe ${writeTime(hold.nextProbeAt, now)}` : 'the next job probes';
  const next = isProbed(hold.kind) ? `${probe}; ` : '';
  return `${hold.kind} (${hold.code}) ${since}: ${reason}; ${next}${remedy}`;
}

/** Describes the hold of a template in one line. */
export function describeTemplateHold(held: TemplateHold, now: number): string {
  const { template, kind, code, since } = held;
  const { reason, remedy } = HOLDS[kind];
  return `${template} (${code}) ${writeTime(since, now, (span) => `for ${span}`)}: ${reason}; ${remedy}`;
}
