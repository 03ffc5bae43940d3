/**
 * Loaded before the program in every measured process (`--import`): answers its parent what the
 * process has used so far. The program itself runs as it always does.
 */
import { nowMs } from './clock.ts';

/** What a process has used since its start. */
export interface Usage {
  readonly atMs: number;
  readonly cpuMs: number;
  readonly rssMb: number;
  readonly peakMb: number;
  /** Characters that went through JSON.parse and JSON.stringify; 0 unless they are counted. */
  readonly jsonChars: number;
}

/** What the parent asks, and what it is answered. */
export interface ProbeQuestion {
  readonly probe: 'usage';
}
export interface ProbeAnswer {
  readonly probe: ProbeQuestion['probe'];
  readonly value: Usage;
}

let jsonChars = 0;
/** Counting costs time, so it is done only where a leg counts and does not time. */
if (process.env['BENCH_COUNT_JSON'] === '1') {
  const { parse, stringify } = JSON;
  JSON.parse = ((text: unknown, ...rest: []) => {
    jsonChars += String(text).length;
    return parse(String(text), ...rest) as unknown;
  }) as typeof JSON.parse;
  JSON.stringify = ((...args: Parameters<typeof stringify>) => {
    const text = stringify(...args) as string | undefined;
    jsonChars += text?.length ?? 0;
    return text;
  }) as typeof JSON.stringify;
}

function usage(): Usage {
  const { user, system } = process.cpuUsage();
  return {
    atMs: nowMs(),
    cpuMs: (user + system) / 1_000,
    rssMb: process.memoryUsage.rss() / 1_048_576,
    peakMb: process.resourceUsage().maxRSS / 1_024,
    jsonChars,
  };
}

if (process.send !== undefined) {
  process.on('message', (message) => {
    const { probe } = (message ?? {}) as Partial<ProbeQuestion>;
    if (probe !== undefined) process.send?.({ probe, value: usage() } satisfies ProbeAnswer);
  });
}
