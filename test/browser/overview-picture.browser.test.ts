import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { testRedis } from '../support/redis.ts';
import { PATIENCE_MS } from './support/visit.ts';
import { startWatched } from './support/watched.ts';

const redis = testRedis();

/** `npm run picture` writes the picture that README shows. */
const UPDATES = process.env['UPDATE_PICTURE'] === '1';
const PICTURE = UPDATES ? 'docs/images/overview.png' : 'test-output/pages/overview-in-readme.png';
const TRAFFIC_MS = UPDATES ? 240_000 : 2_000;

it(
  'the picture of the overview page in README can be made anew',
  async () => {
    const watched = await startWatched(redis, { processes: 2, emulator: { latencyMs: 60 } });
    const { notices } = watched.ops.context;
    const contacts = Array.from({ length: 60_000 }, (_, index) => ({
      contact: `0100${String(index).padStart(7, '0')}`,
      var1: 'Kim',
    }));
    await notices.import(contacts, {
      templateCode: 'SPRING_SALE',
      batchId: 'spring-sale',
      chunkSize: 5,
    });
    const end = performance.now() + TRAFFIC_MS;
    for (let order = 1; performance.now() < end; order += 1) {
      const contact = `0109${String(order).padStart(7, '0')}`;
      await notices.send({ templateCode: 'ORDER_SHIPPED', contacts: [{ contact, var1: 'Kim' }] });
      // Busier and quieter, as orders come.
      await delay(60 + 40 * Math.sin(order / 60));
    }
    const { page } = await watched.look('otto', { viewport: { width: 1_200, height: 860 } });
    await page.goto('/');
    await page.getByText('contacts per second are being sent').waitFor();
    mkdirSync(path.dirname(PICTURE), { recursive: true });
    const picture = await page.screenshot({ path: PICTURE });
    expect(picture.length).toBeLessThan(150_000);
  },
  TRAFFIC_MS + 3 * PATIENCE_MS,
);
