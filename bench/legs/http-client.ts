import { awaitTotals } from '../harness/timed.ts';
import { NAMES, worked, type Sender } from './single-sends.ts';

const client = (name: string, kind: string): Sender => ({
  name,
  possible: () => true,
  run: async (stage, totals) => {
    const args = [stage.redisUrl, stage.serviceUrl, kind, String(totals.all)];
    const process = stage.start('bench/programs/http-client.js', args);
    await process.next('ready');
    awaitTotals(stage, totals);
    process.send({ go: true });
    return worked(stage, process, stage.service, totals);
  },
});

/** The same requests by each client; figures are per request. */
export const CLIENTS: readonly Sender[] = [
  client(NAMES.undici, 'undici'),
  client(NAMES.client, 'ours'),
  client(NAMES.bareAxios, 'axios'),
];

export const clientTotals = (requests: number) => ({ warm: 6_000, all: 6_000 + requests });
