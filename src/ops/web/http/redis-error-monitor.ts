import { redisErrorCode } from '../../../redis/failure.ts';
import type { RedisSettings } from '../../../redis/connect.ts';

/** What is likely wrong with Redis, for the person who looks at the page. */
export interface RedisTrouble {
  /** In plain words, with what to do. */
  readonly cause: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** By the word of the error (redis/failure.ts); `%` stands for the address. */
const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Nothing listens at %: Redis is down, or REDIS_URL names another port.',
  ENOTFOUND: 'The name of % is not known here: check REDIS_URL and DNS.',
  EAI_AGAIN: 'The name of % cannot be looked up right now: DNS does not answer.',
  EHOSTUNREACH: '% cannot be reached from here: check the network and the firewall.',
  ENETUNREACH: '% cannot be reached from here: check the network and the firewall.',
  ETIMEDOUT: '% does not answer: a firewall drops the packets, or the machine is down.',
  ECONNRESET: '% closes the connection: Redis restarts, or has too many clients.',
  NOAUTH: 'Redis at % wants a password: set REDIS_PASSWORD.',
  WRONGPASS:
    'Redis at % refuses the user or the password: check REDIS_USERNAME and REDIS_PASSWORD.',
  LOADING: 'Redis at % has just started and is still reading its data: wait.',
  BUSY: 'Redis at % is busy with a script of somebody.',
  OOM: 'Redis at % is out of memory: raise maxmemory, or delete what is not needed.',
};

const UNKNOWN_CAUSE =
  'Redis at % does not answer in time: it is down, frozen or overloaded, or the network is.';

/**
 * Remembers what the connection to Redis last complained of.
 *
 * fine, until the first error; away, until {@link RedisErrorMonitor.recovered}, since the first error of the
 * row and with the cause that the last one named.
 */
export class RedisErrorMonitor {
  readonly #address: string;
  #word = '';
  #since = 0;

  constructor(settings: RedisSettings) {
    this.#address = addressOf(settings);
  }

  failed(error: unknown, now: number): void {
    const word = redisErrorCode(error);
    if (this.#since === 0) this.#since = now;
    // A command that could not be sent says less than the connection did.
    if (word in CAUSES || this.#word === '') this.#word = word;
  }

  recovered(): void {
    this.#word = '';
    this.#since = 0;
  }

  /** Undefined where Redis is fine, as far as is known. */
  get trouble(): RedisTrouble | undefined {
    return this.#since === 0 ? undefined : { cause: this.explain(), since: this.#since };
  }

  explain(): string {
    return (CAUSES[this.#word] ?? UNKNOWN_CAUSE).replace('%', this.#address);
  }
}

/** Host and port, or the names of the hosts; never a user or a password. */
function addressOf({ url, sentinels, cluster }: RedisSettings): string {
  const nodes = cluster.length > 0 ? cluster : sentinels;
  if (nodes.length > 0) return nodes.map(({ host, port }) => `${host}:${port}`).join(', ');
  const { hostname, port } = new URL(url);
  return `${hostname}:${port === '' ? '6379' : port}`;
}
