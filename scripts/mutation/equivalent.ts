import type { Mutant } from './mutate.ts';

/** Mutants that change nothing that can be observed, with the reason. */
const EQUIVALENT: readonly {
  readonly file: string;
  readonly text: string;
  readonly why: string;
}[] = [
  {
    file: 'workers/queue/send-worker.ts',
    text: 'const hasStalled = job.stalledCounter >= 0;',
    why: 'Only a job that stalled or cannot be read comes here, and one that never stalled has no stored end.',
  },
  {
    file: 'workers/send/coalescer.ts',
    text: 'for (; room > 0 || alike > 0; at++) {',
    why: 'It looks at more notices, of which none fits or none is alike.',
  },
  {
    file: 'src/batch/ledger/scripts/ledger-prelude.ts',
    text: "if ms >= 0 then redis.call('PEXPIRE', key, ms) end",
    why: 'A record with no time left is deleted in the same millisecond.',
  },
  {
    file: 'src/token/cure-scripts.ts',
    text: 'if not at or tonumber(at) >= clock() or clock() - tonumber(at) >= tonumber(apart)',
    why: 'In the millisecond of its time it is recorded again with the same time and distance.',
  },
  {
    file: 'src/fleet/hold/next-probe.ts',
    text: 'if found[2] >= newestAt then newest, newestAt = found[1], found[2] end',
    why: 'The counter of the queue is another one for each job.',
  },
];

/** Whether a mutant is known to change nothing that can be observed. */
export function isEquivalent({ file, text }: Mutant): boolean {
  return EQUIVALENT.some((one) => one.file === file && one.text === text.trim());
}
