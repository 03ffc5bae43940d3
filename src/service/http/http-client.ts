import { create as createAxios } from 'axios';
import type { AxiosAdapter, AxiosInstance } from 'axios';
import axiosRetry from 'axios-retry';
import type { IAxiosRetryConfig } from 'axios-retry';

/**
 * An axios instance for one endpoint, with its retry policy. Everything that axios could add by
 * itself is off: the request is what the {@link Exchange} says, the answer what the adapter saw.
 */
export function createHttpClient(adapter: AxiosAdapter, policy: IAxiosRetryConfig): AxiosInstance {
  const client = createAxios();
  // What axios knows by default is for its own adapters, and each of it costs a merge per request.
  for (const name of Object.keys(client.defaults)) Reflect.deleteProperty(client.defaults, name);
  Object.assign(client.defaults, { adapter, method: 'post', allowAbsoluteUrls: false });
  const { requestInterceptorId } = axiosRetry(client, policy);
  // It copies the policy into every request. The other hook does so for those that failed, which is
  // all the policy needs; without this one a request is also three promises shorter.
  client.interceptors.request.eject(requestInterceptorId);
  return client;
}
