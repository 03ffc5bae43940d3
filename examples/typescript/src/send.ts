import { InputError, NoticeQueue, type Notice, type Receipt } from 'notice-queue';
import { NoticeAdmin } from 'notice-queue/admin';
import type { NoticeWorker } from 'notice-queue/worker';

const redis = { url: process.env['REDIS_URL'] };
const prefix = process.env['REDIS_PREFIX'];

export type Started = Pick<NoticeWorker, 'id' | 'stop'>;

async function main(): Promise<void> {
  const notices = new NoticeQueue({ redis, prefix });
  const notice: Notice = { templateCode: 'SHIPPED', contacts: [{ contact: '01012345678' }] };
  const receipt: Receipt = await notices.send(notice);
  const { state } = await notices.get(receipt.id);
  const refused = await notices
    .send({ templateCode: 'SHIPPED', contacts: [] })
    .catch((error: unknown) => error instanceof InputError && error.issues.length === 1);
  await notices.close();

  const admin = new NoticeAdmin({ redis, prefix, who: 'example' });
  const failed = await admin.run('failures', {});
  if (state !== 'pending' || refused !== true || failed.matching > 0) throw new Error(state);
  console.log('sent');
}

void main();
