import { InputError, NoticeQueueError } from '../contracts/errors.ts';
import { parseInput } from '../contracts/parse-input.ts';
import { operationContext } from '../ops/operations/context.ts';
import type { Operation } from '../ops/operations/operation.ts';
import {
  OPERATIONS,
  type OperationInput,
  type OperationName,
  type OperationOutput,
} from '../ops/operations/operations.ts';
import {
  withEnvironment,
  readQueueOptions,
  type NoticeQueueOptions,
  type QueueSettings,
} from '../producer/options.ts';
import { withRedis } from '../redis/with-redis.ts';

/** Options of {@link NoticeAdmin}: those of the queue, and a name. */
export interface NoticeAdminOptions extends NoticeQueueOptions {
  /** Who acts, for the audit stream: 1 to 100 characters. @default 'program' */
  who?: string | undefined;
}

/** Why something is done, and what ends it early. */
export interface AdminOptions {
  /** Reason, recorded in the audit stream. Default: none */
  readonly why?: string | undefined;
  /** Ends a change of many between two of its steps; what was done before stays done. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * What a person does with commands and pages, for programs: every operation of docs/ops-server.md. Changes are
 * recorded in the audit stream. Needs no credentials of the messaging service.
 *
 * Each call opens a connection to Redis and closes it at its end, so there is nothing to close.
 *
 * @example
 * import { NoticeAdmin } from 'notice-queue/admin';
 * const admin = NoticeAdmin.fromEnv();
 * await admin.run('pause', { id: 'b-7' }, { why: 'wrong template' });
 */
export class NoticeAdmin {
  readonly #settings: QueueSettings;
  readonly #who: string;

  /** @throws InputError CONFIG_INVALID that names every invalid or unknown option */
  constructor({ who = 'program', ...options }: NoticeAdminOptions = {}) {
    this.#settings = readQueueOptions(options);
    if (typeof who !== 'string' || who === '') {
      const problem = 'expected text of 1 to 100 characters';
      throw new InputError('CONFIG_INVALID', [{ field: 'who', problem }]);
    }
    this.#who = who.slice(0, 100);
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

  /**
   * Runs an operation by its name.
   *
   * @throws InputError REQUEST_INVALID that names every invalid field
   * @throws NoticeQueueError NOT_FOUND, or NOT_POSSIBLE with the reason; QUEUE_UNAVAILABLE or QUEUE_REFUSED when Redis fails
   */
  async run<Name extends OperationName>(
    name: Name,
    input: OperationInput<Name>,
    { why = '', signal }: AdminOptions = {},
  ): Promise<OperationOutput<Name>> {
    const row: Operation | undefined = OPERATIONS.find((one) => one.name === name);
    if (row === undefined) throw new NoticeQueueError('NOT_FOUND', 'No operation has this name.');
    const parsed = parseInput(row.input.strict(), input, 'REQUEST_INVALID', '', 'input');
    const { redis: server, enqueueTimeoutMs, prefix, account } = this.#settings;
    return withRedis(server, enqueueTimeoutMs, (redis) => {
      const context = operationContext(redis, {
        account,
        redis: { ...server, prefix },
        queue: this.#settings,
        worker: { rateLimit: { limit: 0 } },
        redisWatch: { persistence: 'warn', memoryHeadroom: 10 },
      });
      const call = { who: this.#who, why, signal };
      return row.run(context, parsed, call) as Promise<OperationOutput<Name>>;
    });
  }
}
