import {
  whyNotRedrive,
  type RedriveReport,
  type RedriveSelection,
} from '../batch/failures/redrive-batch.ts';
import { redriveRate } from '../batch/failures/redrive-rate.ts';
import type { Batch, BatchPhase } from '../batch/ledger/batch-record.ts';
import { Ledger } from '../batch/ledger/ledger.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import { parseInput } from '../contracts/parse-input.ts';
import { failedNotices, type FailedFilter } from '../notices/failed-notices.ts';
import type { NoticeView } from '../notices/notice-state.ts';
import { redriveAudited, requireBatch, type BatchControlContext } from '../ops/batch-actions.ts';
import { readBatchSnapshot } from '../ops/batch-snapshot.ts';
import {
  deleteNotices,
  redriveNotices,
  type FailedReport,
  type FailedSelection,
} from '../ops/notice-actions.ts';
import { runParsed, type Operation } from '../ops/operations/operation.ts';
import {
  OPERATIONS,
  type OperationInput,
  type OperationName,
  type OperationOutput,
} from '../ops/operations/operations.ts';
import { sealingOf } from '../payload/seal.ts';
import { withEnvironment } from '../producer/from-environment.ts';
import {
  readQueueOptions,
  type NoticeQueueOptions,
  type QueueSettings,
} from '../producer/options.ts';
import { keysOf } from '../redis/keys.ts';
import { withRedis } from '../redis/with-redis.ts';
import {
  batchSelectionSchema,
  checked,
  filterSchema,
  mostSchema,
  readLimit,
  readWho,
  rejectedSchema,
  releaseSchema,
  selectionSchema,
} from './admin-input.ts';

/** Options of {@link NoticeAdmin}: those of the queue, and a name. */
export interface NoticeAdminOptions extends NoticeQueueOptions {
  /** Who acts, for the audit stream: 1 to 100 characters. @default 'program' */
  who?: string | undefined;
}

/** Why something is done, and what ends it early. */
export interface AdminOptions {
  /** Reason, recorded in the audit stream. Default: none */
  readonly why?: string | undefined;
  /** Ends a redrive or deletion between two of its steps; what was done before stays done. */
  readonly signal?: AbortSignal | undefined;
}

/** A batch at one moment. */
export interface BatchStatus extends Batch {
  /** Why nothing of it is sent, and what to do; absent where it is sent or over. */
  readonly standstill?: string;
  /** It makes no progress, and nothing is known that would explain it. */
  readonly stalled: boolean;
  /** Whether its import stopped before the end of the list; the same import continues it. */
  readonly importStopped: boolean;
}

/** The longest list of batches. */
const MOST_BATCHES = 200;

/**
 * What a person does with the commands `notices pause`, `resume`, `cancel`, `redrive` and `failures`, for
 * programs. Each action is recorded in the audit stream. Needs no credentials of the messaging service.
 *
 * Each call opens a connection to Redis and closes it at its end, so there is nothing to close.
 *
 * All methods throw NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED when Redis fails.
 *
 * @example
 * import { NoticeAdmin } from 'notice-queue/admin';
 * const admin = NoticeAdmin.fromEnv();
 * await admin.pauseBatch('b-7', { why: 'wrong template' });
 */
export class NoticeAdmin {
  readonly #settings: QueueSettings;
  readonly #who: string;

  /** @throws InputError CONFIG_INVALID that names every invalid or unknown option */
  constructor({ who = 'program', ...options }: NoticeAdminOptions = {}) {
    this.#settings = readQueueOptions(options);
    this.#who = readWho(who);
  }

  /**
   * With the settings of the environment, as `NoticeQueue.fromEnv`.
   *
   * @param options take precedence over the environment, each as a whole; undefined ones do not
   * @throws InputError CONFIG_INVALID that names every invalid variable, or every invalid option
   */
  static fromEnv(options: NoticeAdminOptions = {}): NoticeAdmin {
    return new NoticeAdmin(withEnvironment(options));
  }

  /** The newest batches, the newest first. @param limit 1 to 200. Default: 50 @throws InputError REQUEST_INVALID */
  async batches(limit = 50): Promise<Batch[]> {
    const most = readLimit(limit, MOST_BATCHES);
    return this.#with(async ({ ledger }) => ledger.list(most));
  }

  /** The state of a batch; undefined where there is none of this id. */
  batch(id: string): Promise<BatchStatus | undefined> {
    return this.#with(async (context) => {
      const found = await readBatchSnapshot(context, id);
      if (found === undefined) return undefined;
      const { batch, standstill, stalled, importStopped } = found;
      return {
        ...batch,
        ...(standstill === undefined ? {} : { standstill }),
        stalled,
        importStopped,
      };
    });
  }

  /** Stops sending a batch; requests in flight finish. @throws NoticeQueueError NOT_FOUND, NOT_POSSIBLE */
  pauseBatch(id: string, options?: AdminOptions): Promise<BatchPhase> {
    return this.run('pause', { id }, options).then(({ phase }) => phase);
  }

  /** Resumes a paused batch. @throws NoticeQueueError NOT_FOUND, NOT_POSSIBLE */
  resumeBatch(id: string, options?: AdminOptions): Promise<BatchPhase> {
    return this.run('resume', { id }, options).then(({ phase }) => phase);
  }

  /** Ends a batch for good: pending contacts are never sent. @throws NoticeQueueError NOT_FOUND, NOT_POSSIBLE */
  cancelBatch(id: string, options?: AdminOptions): Promise<BatchPhase> {
    return this.run('batch cancel', { id }, options).then(({ phase }) => phase);
  }

  /**
   * Sends contacts of a batch again that were not accepted. Unknown ones may arrive twice.
   *
   * @throws NoticeQueueError NOT_FOUND, or NOT_POSSIBLE with the reason
   * @throws InputError REQUEST_INVALID that names every invalid field; `rate` is a whole number from 1 to 1,000,000
   */
  async redriveBatch(
    id: string,
    selection: RedriveSelection,
    { why = '', signal }: AdminOptions = {},
  ): Promise<RedriveReport> {
    checked(batchSelectionSchema, selection);
    requireRate(selection);
    return this.#with(async (context) => {
      const batch = await requireBatch(context, id);
      const reason = whyNotRedrive(batch, Date.now());
      if (reason !== undefined) {
        throw new NoticeQueueError('NOT_POSSIBLE', `Batch ${id} cannot be redriven: ${reason}.`);
      }
      return redriveAudited(context, batch, selection, this.#actor(why), undefined, signal);
    });
  }

  /**
   * Single notices that have failed, the newest first.
   *
   * @param most how many are read. Default: 1,000
   * @throws InputError REQUEST_INVALID that names every invalid field
   */
  async failedNotices(filter: FailedFilter = {}, most = 1_000): Promise<NoticeView[]> {
    checked(filterSchema, filter);
    checked(mostSchema, most, 'most');
    return this.#with(async ({ redis, keys }) => {
      const found: NoticeView[] = [];
      for await (const job of failedNotices(redis, keys, filter, most)) found.push(job);
      return found;
    });
  }

  /**
   * Sends failed single notices again, under their ids. Rejected ones that were possibly sent before are
   * left out unless the selection has `possiblySent: true`.
   *
   * @param options `rate`: notices per second at most. Default: no limit
   * @throws InputError REQUEST_INVALID that names every invalid field; `rate` is a whole number from 1 to 1,000,000
   */
  async redriveNotices(
    selection: FailedSelection,
    { why = '', signal, rate }: AdminOptions & { readonly rate?: number | undefined } = {},
  ): Promise<FailedReport> {
    checked(selectionSchema, selection);
    requireRate({ rate });
    return this.#with((context) =>
      redriveNotices(context, selection, this.#actor(why), rate, signal),
    );
  }

  /**
   * Deletes rejected single notices.
   *
   * @param options `releaseKey`: whether their idempotency keys can be used anew, but not that of a notice of which
   *   some contacts have a result of their own. Default: false
   * @throws InputError REQUEST_INVALID that names every invalid field
   */
  async deleteNotices(
    selection: FailedSelection & { readonly state: 'rejected' },
    { why = '', signal, releaseKey }: AdminOptions & { readonly releaseKey?: boolean } = {},
  ): Promise<FailedReport> {
    checked(rejectedSchema, selection);
    checked(releaseSchema, releaseKey, 'releaseKey');
    return this.#with((context) =>
      deleteNotices(context, selection, this.#actor(why), releaseKey, signal),
    );
  }

  /**
   * Any operation of the HTTP API and of the commands, by its name: `admin.run('hold lift', { template: 'ORDER' })`.
   *
   * @throws InputError REQUEST_INVALID that names every invalid field
   * @throws NoticeQueueError NOT_FOUND, or NOT_POSSIBLE with the reason
   */
  async run<Name extends OperationName>(
    name: Name,
    input: OperationInput<Name>,
    { why = '', signal }: AdminOptions = {},
  ): Promise<OperationOutput<Name>> {
    const row: Operation | undefined = OPERATIONS.find((one) => one.name === name);
    if (row === undefined) throw new NoticeQueueError('NOT_FOUND', 'No operation has this name.');
    const parsed = parseInput(row.input.strict(), input, 'REQUEST_INVALID', '', 'input');
    const sealing = sealingOf(this.#settings.account, this.#settings);
    return this.#with(
      (context) =>
        runParsed(row, { ...context, sealing, configuredRateLimit: 0 }, parsed, {
          ...this.#actor(why),
          signal,
        }) as Promise<OperationOutput<Name>>,
    );
  }

  #actor(why: string) {
    return { who: this.#who, why };
  }

  #with<Result>(use: (context: BatchControlContext) => Promise<Result>): Promise<Result> {
    const { redis: server, enqueueTimeoutMs, prefix, account } = this.#settings;
    const keys = keysOf(prefix, account);
    return withRedis(server, enqueueTimeoutMs, (redis) =>
      use({ redis, keys, ledger: new Ledger(redis, keys) }),
    );
  }
}

/** @throws InputError REQUEST_INVALID */
function requireRate({ rate }: Pick<RedriveSelection, 'rate'>): void {
  parseInput(redriveRate.optional(), rate, 'REQUEST_INVALID', 'rate');
}
