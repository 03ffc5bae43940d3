/** Code whose mistakes cost money. The tests nearest to it are found by its imports. */
export interface Target {
  /** A folder or a file. */
  readonly code: string;
  /** Beginnings of the paths of further tests, for what the nearest ones do not notice. */
  readonly wide: readonly string[];
}

const SENDS = ['test/service-coverage/what-it-does', 'test/workers/holds.promise'];
const JOBS = ['test/workers/send/outcomes.fleet', 'test/workers/at-most-once.promise'];

/** Outcome table, token, holds, rate limit, intents, ledger, send and access. */
export const TARGETS: readonly Target[] = [
  { code: 'src/service/outcome-table.ts', wide: SENDS },
  { code: 'src/service/send-with-refresh.ts', wide: SENDS },
  { code: 'src/service/send-call.ts', wide: SENDS },
  { code: 'src/service/response', wide: SENDS },
  { code: 'src/token', wide: ['test/workers/shared-token.promise'] },
  { code: 'src/fleet/hold', wide: ['test/workers/holds.promise'] },
  { code: 'src/fleet/rate-limit', wide: ['test/workers/rate-limit.promise'] },
  { code: 'src/fleet/intents', wide: ['test/workers/at-most-once.promise'] },
  { code: 'src/fleet/job-ends.ts', wide: [] },
  { code: 'src/batch/ledger', wide: ['test/batch/ledger'] },
  { code: 'src/batch/import', wide: ['test/batch/import', 'test/batch/kill-matrix.promise'] },
  { code: 'workers/send', wide: ['test/workers/send/attempt-lines', ...SENDS, ...JOBS] },
  { code: 'workers/queue', wide: [...SENDS, ...JOBS] },
  { code: 'src/ops/web/access', wide: ['test/ops/web'] },
];
