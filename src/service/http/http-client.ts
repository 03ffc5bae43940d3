import { AxiosError, AxiosHeaders, create as createAxios, type AxiosAdapter } from 'axios';
import axiosRetry from 'axios-retry';
import { Exchange, type Transport, type WireFacts } from './transport.ts';

const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 2_000;

/** Axios converts the headers of every answer to this class, unless they are an instance. */
const NO_HEADERS = new AxiosHeaders();

/** Makes the requests of an exchange, which then has their facts; never rejects. */
export type Post = (exchange: Exchange) => Promise<void>;

/**
 * The one way to make a request: an axios instance over the transport, with axios-retry. What else axios could do is
 * off: the request is the {@link Exchange}, the answer what the transport observed.
 */
export function createHttpClient(transport: Transport): Post {
  const client = createAxios();
  for (const name of Object.keys(client.defaults)) Reflect.deleteProperty(client.defaults, name);
  const adapter: AxiosAdapter = async (config) => {
    const exchange: unknown = config.data;
    if (!(exchange instanceof Exchange)) throw new AxiosError('no exchange', 'ERR_BAD_OPTION');
    await transport.post(exchange);
    if (mayRepeat(exchange)) throw new AxiosError('to be repeated', undefined, config);
    const status = exchange.facts?.status ?? 0;
    return { data: undefined, status, statusText: '', headers: NO_HEADERS, config };
  };
  Object.assign(client.defaults, { adapter });
  axiosRetry(client, {
    retryCondition: ({ config }) => config?.data instanceof Exchange && mayRepeat(config.data),
    retryDelay: (count) => repeatDelay(count, Math.random()),
  });
  return async (exchange) => {
    if (exchange.deadline.cause !== undefined) return;
    const { deadline: signal, retries } = exchange;
    try {
      await client.request({ data: exchange, signal, 'axios-retry': { retries } });
    } catch {
      // Errors of axios have the headers and the body of the request, so they end here.
    }
  };
}

/**
 * Whether a request may be made again: where it was provably not sent, for a reason that may be gone a moment later,
 * and an issuance also where the service failed (5xx). Anything else may have been accepted; an issuance without an
 * answer may still issue a token, and invalidate the one that another request gets.
 */
export function mayRepeat(
  exchange: Pick<Exchange, 'facts' | 'repeatsFailures'> & {
    readonly deadline: { cause?: unknown };
  },
): boolean {
  const { facts, deadline, repeatsFailures } = exchange;
  if (facts === undefined || deadline.cause !== undefined) return false;
  const { status } = facts;
  if (status !== undefined) return repeatsFailures && status >= 500 && status <= 599;
  return !facts.started && isPassing(facts);
}

/** A certificate that does not verify stays so, and a call that was given up has ended. */
const isPassing = ({ failure, failureCode }: WireFacts): boolean =>
  failure !== 'certificate' && failure !== 'aborted' && failureCode !== 'DEADLINE';

/** Milliseconds before repeat `count` (from 1): exponential; half of the delay is random. */
export const repeatDelay = (count: number, random: number): number =>
  Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (count - 1)) * (0.5 + random / 2);
