import type { NatMap } from 'ioredis';
import { NoticeQueueError } from '../contracts/errors.ts';
import { isLoopbackHost, mayBePlain } from '../format/plain-hosts.ts';

interface PlainSettings {
  readonly url: string;
  readonly sentinels: readonly { readonly host: string; readonly port: number }[];
  readonly insecureHosts?: readonly string[] | undefined;
}

/** What keeps a plain connection on this machine. */
export interface PlainNodes {
  /** Maps the addresses that Sentinels name. */
  readonly ofSentinels: { readonly natMap?: NatMap };
  /** The error to report for one of the client: where the client wraps a refusal, the refusal. */
  readonly reported: (error: Error) => Error;
}

/**
 * Refuses addresses that Sentinels of this machine name without TLS, unless they are of this machine
 * or in `insecureHosts`. Those of another machine are in `insecureHosts` themselves; what they lead to is not checked.
 * It is an option of the client, so connections that BullMQ makes of ours have it, too.
 */
export function plainNodes(settings: PlainSettings): PlainNodes {
  const { url, sentinels, insecureHosts = [] } = settings;
  const isPlain = new URL(url).protocol === 'redis:';
  const isHere = sentinels.every(({ host }) => isLoopbackHost(host));
  if (!isPlain || !isHere) return { ofSentinels: {}, reported: (error) => error };
  const refusalOf = (host: string, port: number) =>
    mayBePlain(host, insecureHosts)
      ? undefined
      : new NoticeQueueError(
          'QUEUE_REFUSED',
          `Redis on this machine leads to ${host}:${port} without TLS: use rediss://, or add ${host} to INSECURE_HOSTS (docs/redis.md).`,
        );
  let last: NoticeQueueError | undefined;
  return {
    ofSentinels: {
      natMap: (key) => {
        const at = key.lastIndexOf(':');
        const [host, port] = [key.slice(0, at), Number(key.slice(at + 1))];
        const refusal = refusalOf(host, port);
        if (refusal === undefined) return { host, port };
        // The client catches it and asks the next Sentinel.
        last = refusal;
        throw refusal;
      },
    },
    reported: (error) =>
      last !== undefined && error.message.includes(last.message) ? last : error,
  };
}
