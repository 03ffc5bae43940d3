/** (c) A plain loop over a client library: what is in flight when it dies is lost. */
import type { Notice } from '../../src/contracts/notice.ts';
import { chunkAt, CONCURRENCY, notices, noticeTo } from '../work.ts';
import { NoticeClient, overFetch, overNodeHttp } from './client-library.ts';
import { places, tell } from './tell.ts';

const [kind, count, over] = process.argv.slice(4);
const client = new NoticeClient(
  places().service,
  'emulator-access-key',
  'emulator-secret-key',
  over === 'fetch' ? overFetch : overNodeHttp(CONCURRENCY),
);
const work: Notice[] =
  kind === 'chunks'
    ? Array.from({ length: Number(count) }, (_, chunk) => noticeTo(chunkAt(chunk)))
    : notices(Number(count));
let next = 0;
process.once('message', () => {
  for (let slot = 0; slot < CONCURRENCY; slot++) {
    void (async () => {
      for (let notice = work[next++]; notice !== undefined; notice = work[next++]) {
        await client.send(notice);
      }
    })();
  }
});
tell({ ready: true });
