import { AxiosError, AxiosHeaders, create as createAxios } from 'axios';
import type { AxiosAdapter, AxiosInstance } from 'axios';
import axiosRetry from 'axios-retry';
import type { IAxiosRetryConfig } from 'axios-retry';
import { Exchange } from './exchange.ts';
import type { Transport } from './transport.ts';

/** Axios converts the headers of every answer to this class, unless they are an instance. */
const NO_HEADERS = new AxiosHeaders();

/**
 * An axios instance over the transport, with a retry policy. Everything else that axios could add is off: the
 * request is the {@link Exchange}, the answer what the transport observed.
 */
export function createHttpClient(transport: Transport, policy: IAxiosRetryConfig): AxiosInstance {
  const client = createAxios();
  for (const name of Object.keys(client.defaults)) Reflect.deleteProperty(client.defaults, name);
  const adapter = adapterOf(transport);
  Object.assign(client.defaults, { adapter, method: 'post', allowAbsoluteUrls: false });
  axiosRetry(client, policy);
  return client;
}

/** Headers and body of an answer stay in the facts of the exchange: axios would only copy them. */
function adapterOf(transport: Transport): AxiosAdapter {
  return async (config) => {
    const exchange: unknown = config.data;
    if (!(exchange instanceof Exchange)) {
      throw new AxiosError('not a request of the service client', 'ERR_BAD_OPTION', config);
    }
    await transport.post(config.url ?? '', exchange);
    const { status, failureCode } = exchange.facts ?? {};
    const response =
      status === undefined
        ? undefined
        : { data: undefined, status, statusText: '', headers: NO_HEADERS, config };
    if (response !== undefined && response.status >= 200 && response.status < 300) return response;
    throw new AxiosError('the call did not succeed', failureCode, config, undefined, response);
  };
}

/**
 * Makes the requests of an exchange. The result is in the facts of the exchange. Errors of axios contain
 * headers and body, so they are dropped here.
 */
export async function post(http: AxiosInstance, url: string, exchange: Exchange): Promise<void> {
  try {
    await http.request({ url, data: exchange, signal: exchange.deadline });
  } catch {
    // See above.
  }
}
