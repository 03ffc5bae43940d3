import { create as createAxios } from 'axios';
import type { AxiosAdapter, AxiosInstance } from 'axios';
import axiosRetry from 'axios-retry';
import type { IAxiosRetryConfig } from 'axios-retry';
import type { Exchange } from './exchange.ts';

/**
 * An axios instance for one endpoint, with its retry policy. Everything that axios could add is off: the
 * request is the {@link Exchange}, the answer what the adapter observed.
 */
export function createHttpClient(adapter: AxiosAdapter, policy: IAxiosRetryConfig): AxiosInstance {
  const client = createAxios();
  // The defaults are for axios' own adapters, and each costs a merge per request.
  for (const name of Object.keys(client.defaults)) Reflect.deleteProperty(client.defaults, name);
  Object.assign(client.defaults, { adapter, method: 'post', allowAbsoluteUrls: false });
  const { requestInterceptorId } = axiosRetry(client, policy);
  // It copies the policy into every request. The other interceptor does so for failed requests, which is all
  // the policy needs; without this one a request costs three promises less.
  client.interceptors.request.eject(requestInterceptorId);
  return client;
}

/**
 * Makes the request of an exchange. The result is in the facts of the exchange. Errors of axios contain
 * headers and body, so they are dropped here.
 */
export async function post(http: AxiosInstance, url: string, exchange: Exchange): Promise<void> {
  try {
    await http.request({ url, data: exchange, signal: exchange.deadline });
  } catch {
    // See above.
  }
}
