import type { SendGateOptions } from '../../workers/send/send-gate.ts';

/** A worker whose every refusal is one of all workers. */
export const NOT_REFUSED: SendGateOptions['refusal'] = {
  judge: () => Promise.resolve('all'),
  accepted: () => {},
};
