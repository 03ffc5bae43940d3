import { Ledger } from '../../src/batch/ledger/ledger.ts';
import type { BatchCounts } from '../../src/batch/ledger/batch-record.ts';
import { formatCount } from '../../src/format/format.ts';
import { connectRedis } from '../../src/redis/connect.ts';
import { keysOf } from '../../src/redis/keys.ts';
import type { EmulatorRecord } from './emulator-record.ts';

/** Reads the batch of the demo from the ledger, as the pages and the command line do. */
export class LedgerView {
  readonly #redis: ReturnType<typeof connectRedis>;
  readonly #ledger: Ledger;

  constructor(env: Readonly<Record<string, string>>) {
    const settings = {
      url: env['REDIS_URL'] ?? '',
      sentinels: [],
      connectTimeoutMs: 5_000,
    };
    this.#redis = connectRedis(settings, 'reader', () => {}, 5_000);
    this.#ledger = new Ledger(this.#redis, keysOf(env['REDIS_PREFIX'] ?? '', 'default'));
  }

  async counts(batch: string): Promise<BatchCounts> {
    const found = await this.#ledger.read(batch);
    if (found === undefined) throw new Error(`the batch ${batch} was deleted`);
    return found.counts;
  }

  close(): void {
    this.#redis.disconnect();
  }
}

/** The summary of the demo, and whether the ledger and the emulator agree. */
export interface Summary {
  readonly lines: readonly string[];
  readonly agrees: boolean;
}

/**
 * Compares the ledger with the record of the emulator: the emulator accepted every contact that the ledger
 * counts as accepted, the ledger counts every contact that the emulator accepted as accepted or unknown,
 * and no contact was accepted twice.
 */
export function summarise(counts: BatchCounts, record: EmulatorRecord): Summary {
  const { total, accepted, rejected, unknown } = counts;
  const settled = accepted + rejected + unknown;
  const unknownTaken = record.distinct - accepted;
  const lost = total - settled;
  const line = (name: string, value: string) => `${name.padEnd(23)} ${value}`;
  const doubt =
    unknown === 0
      ? []
      : [
          line('known as accepted', formatCount(accepted)),
          line('unknown', `${formatCount(unknown)}, of which ${unknownTaken} were taken`),
        ];
  return {
    lines: [
      line('contacts handed over', formatCount(total)),
      line('accepted by the service', formatCount(record.distinct)),
      ...(rejected === 0 ? [] : [line('rejected', formatCount(rejected))]),
      ...doubt,
      line('sent twice', formatCount(record.twice)),
      line('lost', formatCount(lost)),
      line('tokens issued', String(record.tokens.issued)),
    ],
    agrees: lost === 0 && record.twice === 0 && unknownTaken >= 0 && unknownTaken <= unknown,
  };
}
