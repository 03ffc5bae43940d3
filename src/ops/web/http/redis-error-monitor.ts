import { NoticeQueueError } from '../../../contracts/errors.ts';
import { addressOf, type RedisSettings } from '../../../redis/connect.ts';
import { redisErrorFields } from '../../../redis/failure.ts';

/** Texts by the code of the error (redis/failure.ts); `%` is replaced with the address. */
const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Nothing listens at %: Redis is down, or REDIS_URL names another port.',
  ENOTFOUND: 'The host name of % does not exist: check REDIS_URL and DNS.',
  EAI_AGAIN: 'The host name of % cannot be resolved: DNS does not answer.',
  EHOSTUNREACH: '% cannot be reached from here: check the network and the firewall.',
  ENETUNREACH: '% cannot be reached from here: check the network and the firewall.',
  ETIMEDOUT: '% does not answer: a firewall drops the packets, or the machine is down.',
  ECONNRESET: '% closes the connection: Redis restarts, or has too many clients.',
  NOAUTH: 'Redis at % requires a password: set REDIS_PASSWORD.',
  WRONGPASS:
    'Redis at % refuses the user or the password: check REDIS_USERNAME and REDIS_PASSWORD.',
  LOADING: 'Redis at % has just started and is still reading its data: wait.',
  BUSY: 'Redis at % is busy with a long-running script.',
  OOM: 'Redis at % is out of memory: raise maxmemory, or delete what is not needed.',
};

const NO_PERMISSION = 'The user of Redis at % lacks a permission: ';

const UNKNOWN_CAUSE =
  'Redis at % does not answer in time: it is down, frozen or overloaded, or the network is.';

/** Remembers the cause of the last error of the connection to Redis, for what to say while it is away. */
export class RedisErrorMonitor {
  readonly #address: string;
  #cause: string | undefined;

  constructor(settings: RedisSettings) {
    this.#address = addressOf(settings);
  }

  failed(error: unknown): void {
    // The error of a connection is more specific than the one of a command that could not be sent.
    this.#cause = causeOf(error) ?? this.#cause;
  }

  recovered(): void {
    this.#cause = undefined;
  }

  /** The likely cause, and what to do. */
  explain(): string {
    return (this.#cause ?? UNKNOWN_CAUSE).replace('%', this.#address);
  }
}

function causeOf(error: unknown): string | undefined {
  if (error instanceof NoticeQueueError && error.code === 'QUEUE_REFUSED') return error.message;
  const { code, missing } = redisErrorFields(error);
  if (missing !== undefined) return `${NO_PERMISSION}${missing} (docs/redis.md).`;
  return CAUSES[code];
}
