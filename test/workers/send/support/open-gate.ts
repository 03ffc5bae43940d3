import { OPEN } from '../../../../src/fleet/hold/hold-gate.ts';
import type { AttemptContext } from '../../../../workers/send/attempt.ts';
import type { Entered, GateJob } from '../../../../workers/send/template-refusals.ts';

/** What lets most attempts begin. */
export const ENTERED: Entered = { passage: OPEN, isContradicted: false };

/** A gate that nothing closes, and that changes no outcome: for tests of what is between its two sides. */
export const OPEN_GATE: AttemptContext['gate'] = {
  enter: () => Promise.resolve(ENTERED),
  leave: (_job, _entered, { outcome }) => Promise.resolve(outcome),
  isInHours: () => true,
  restOf: () => undefined,
};

/** A job at such a gate. */
export const GATE_JOB: GateJob = {
  id: 'job',
  template: 'T',
  takeBack: () => Promise.resolve(),
};
