/** The import of a list into the queue, checked, compressed, sealed and stored in the ledger. */
import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import { nowMs } from '../harness/clock.ts';
import { CHUNK_SIZE } from '../work.ts';
import { tell } from './tell.ts';

const [url = '', file = ''] = process.argv.slice(2);
const queue = new NoticeQueue({
  redis: { url },
  prefix: 'bench',
  payloadKey: '42'.repeat(32),
  highWater: 100_000_000,
});
const begunAt = nowMs();
const { contacts } = await queue.import(file, {
  templateCode: 'ORDER_SHIPPED',
  chunkSize: CHUNK_SIZE,
  again: true,
});
tell({ rows: contacts, ms: nowMs() - begunAt });
await queue.close();
