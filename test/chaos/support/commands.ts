import type { LogLine } from '../../support/fleet.ts';

/** What was fetched or under way ends first; and the sends of the first acceptance begin before it. */
const MARGIN_MS = 500;

/** A time in which the service took nothing: milliseconds since the epoch. */
export interface Gap {
  readonly from: number;
  readonly to: number;
}

/**
 * The most commands a second that one worker process sent to Redis while the service took nothing, by the lines of
 * preload/count-commands.mjs that lie within such a time.
 *
 * @param workers the lines of each
 * @returns NaN where nothing was counted at all: that proves nothing
 */
export function mostCommands(
  workers: readonly { readonly lines: readonly LogLine[] }[],
  gaps: readonly Gap[],
): number {
  const counted = workers.flatMap(({ lines }) =>
    lines.filter(({ event }) => event === 'redis-commands'),
  );
  if (counted.length === 0) return NaN;
  const rates = counted
    .map(({ at, ms, commands }) => ({ to: Number(at), ms: Number(ms), commands: Number(commands) }))
    .filter(({ to, ms }) =>
      gaps.some((gap) => to - ms >= gap.from + MARGIN_MS && to <= gap.to - MARGIN_MS),
    )
    .map(({ ms, commands }) => (commands * 1_000) / ms);
  return Math.round(Math.max(0, ...rates));
}
