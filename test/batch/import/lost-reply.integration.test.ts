import { expect, it, onTestFinished } from 'vitest';
import { startBatch } from '../../../src/batch/ledger/scripts/ledger-scripts.ts';
import { NoticeQueue } from '../../../src/index.ts';
import { shaOf } from '../../chaos/support/script-sha.ts';
import { faultProxyOf } from '../../support/fault-proxy.ts';
import { testRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { importWorld } from '../support/import-world.ts';

const redis = testRedis();

it.each([{}, { again: true }, { batchId: 'named' }])(
  'the reply to the creation of a batch is lost (%j): it is created once',
  async (options) => {
    const world = importWorld(redis);
    const list = [{ contact: '01012345678' }];
    await world.import([{ contact: '01099999999' }], { batchId: 'script-is-known' });
    if ('again' in options) await world.import(list);
    const before = (await world.ledger.list(10)).length;

    const proxy = await faultProxyOf(redis.url);
    const queue = new NoticeQueue({
      redis: connectionAs('importer', redis.url, proxy.url),
      prefix: world.prefix,
    });
    onTestFinished(() => queue.close());
    await proxy.place({ kind: 'drop-reply', when: await shaOf(startBatch), times: 1 });
    const report = await queue.import(list, { templateCode: 'T', ...options });
    expect(proxy.struck).toBe(1);
    expect(report).toMatchObject({ contacts: 1, alreadyImported: false });
    const batches = await world.ledger.list(10);
    expect(batches).toHaveLength(before + 1);
    expect(batches.find(({ id }) => id === report.batch)?.counts.total).toBe(1);
  },
);
