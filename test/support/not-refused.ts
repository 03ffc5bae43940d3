import type { SendGateOptions } from '../../workers/send/send-gate.ts';

/** The refusal of a worker that the service does not refuse: every hold is of the queue. */
export const NOT_REFUSED: SendGateOptions['refusal'] = {
  isAlone: () => Promise.resolve(false),
  accepted: () => {},
};
