/** Code whose mistakes cost money, with the tests that are nearest to it. */
export interface Target {
  /** A folder or a file. */
  readonly code: string;
  /** Filters of test files, tried in this order until one notices the mutant. */
  readonly tests: readonly (readonly string[])[];
}

const SEND = ['test/workers/send', 'test/service/outcome-table'];
const FLEET_WIDE = [
  'test/service-coverage',
  'test/workers/holds.promise',
  'test/workers/at-most-once.promise',
];

/** Outcome table, token, holds, rate limit, intents, ledger, send and access. */
export const TARGETS: readonly Target[] = [
  { code: 'src/service/outcome-table.ts', tests: [['test/service/outcome-table'], FLEET_WIDE] },
  { code: 'src/service/send-with-refresh.ts', tests: [['test/service'], FLEET_WIDE] },
  { code: 'src/service/send-call.ts', tests: [['test/service'], FLEET_WIDE] },
  { code: 'src/service/response', tests: [['test/service'], FLEET_WIDE] },
  { code: 'src/token', tests: [['test/token'], ['test/workers/shared-token.promise']] },
  { code: 'src/fleet/hold', tests: [['test/fleet/hold', 'test/workers/send'], FLEET_WIDE] },
  {
    code: 'src/fleet/rate-limit',
    tests: [['test/fleet/rate-limit'], ['test/workers/rate-limit']],
  },
  { code: 'src/fleet/intents', tests: [['test/fleet/intents'], ['test/ops/', ...FLEET_WIDE]] },
  { code: 'src/fleet/job-ends.ts', tests: [['test/workers/queue']] },
  { code: 'src/batch/ledger', tests: [['test/batch/ledger'], ['test/batch', 'test/ops/']] },
  { code: 'src/batch/import', tests: [['test/batch/import'], ['test/batch', 'test/cli/batches']] },
  { code: 'workers/send', tests: [SEND, ['test/workers/queue', ...FLEET_WIDE]] },
  { code: 'workers/queue', tests: [['test/workers/queue'], [...SEND, ...FLEET_WIDE]] },
  { code: 'src/ops/web/access', tests: [['test/ops/web']] },
];
