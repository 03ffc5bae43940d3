import type { OptionRows } from '../option.ts';

/** How workers meet a Redis that may hold an old copy of the queue. */
export const RESTORE_OPTIONS = {
  RESTORE_GUARD: {
    kind: 'choice',
    meaning:
      'What workers do where Redis holds an old copy of the queue, or may do so: `hold` it until a person has decided, only `warn`, or do not look (`off`).',
    choices: ['hold', 'warn', 'off'],
    default: 'hold',
    note: 'Without it, what was sent after the copy was made is sent again.',
  },
  RESTORE_TOLERANCE_MS: {
    kind: 'integer',
    meaning:
      'A Redis that has surely lost no more than so much time is only warned of: a failover, or a power cut with `appendfsync everysec`, loses about a second. 0 tolerates nothing.',
    unit: 'milliseconds',
    min: 0,
    max: 86_400_000,
    default: 2_000,
    note: 'Raised: what was sent in that time may be sent again, unasked.',
  },
  RESTORE_GAP_MS: {
    kind: 'integer',
    meaning:
      'Where nobody remembers: a Redis that was started again so long after it was last heard of, without a stop of the workers in order before, may hold an old copy.',
    unit: 'milliseconds',
    min: 1_000,
    max: 31_536_000_000,
    default: 60_000,
    note: 'Lowered: more power cuts look like old copies. STATE_FILE makes both certain.',
  },
  STATE_FILE: {
    kind: 'text',
    meaning:
      'Path of a file on a disk of its own in which workers remember how far Redis was, so that an old copy is known for certain after all of them were restarted. Workers of one machine may share it.',
    pattern: /^[^\s\p{Cc}]{1,1024}$/u,
    expected: 'a path of 1 to 1024 characters without spaces',
  },
} as const satisfies OptionRows;
