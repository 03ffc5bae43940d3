/** (f) graphile-worker and axios. */
import { Agent } from 'node:http';
import { create } from 'axios';
import { run } from 'graphile-worker';
import { CONCURRENCY } from '../work.ts';
import { places } from './tell.ts';

const { store, service } = places();
const http = create({
  baseURL: service,
  httpAgent: new Agent({ keepAlive: true }),
  timeout: 10_000,
});
const auth = { username: 'emulator-access-key', password: 'emulator-secret-key' };
const issued = await http.post<{ data: { token: string } }>('/api/v2/token', undefined, { auth });
const headers = { Authorization: `Bearer ${issued.data.data.token}` };

await run({
  connectionString: store,
  noHandleSignals: true,
  preset: { worker: { concurrentJobs: CONCURRENCY, maxPoolSize: 20, localQueue: { size: 500 } } },
  taskList: {
    bare: async (payload) => {
      await http.post('/api/v2/notices/send', payload, { headers });
    },
  },
});
