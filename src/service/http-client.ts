import { create as createAxios } from 'axios';
import type { AxiosAdapter, AxiosInstance } from 'axios';
import axiosRetry from 'axios-retry';
import type { IAxiosRetryConfig } from 'axios-retry';

/**
 * An axios instance for one endpoint, with its retry policy. Everything that axios could add by
 * itself is off: the request is what the {@link Exchange} says, the answer what the adapter saw.
 *
 * @param headers names and values that every request carries
 */
export function createHttpClient(
  adapter: AxiosAdapter,
  policy: IAxiosRetryConfig,
  headers: Record<string, string | false>,
): AxiosInstance {
  const client = createAxios({
    adapter,
    method: 'post',
    headers: { Accept: 'application/json', 'User-Agent': 'notice-queue', ...headers },
    transformRequest: [],
    transformResponse: [],
    maxRedirects: 0,
    proxy: false,
    allowAbsoluteUrls: false,
    decompress: false,
    validateStatus: (status) => status >= 200 && status < 300,
  });
  axiosRetry(client, policy);
  return client;
}
