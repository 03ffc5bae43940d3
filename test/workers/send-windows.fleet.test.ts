import { expect, it } from 'vitest';
import { Ledger } from '../../src/batch/ledger/ledger.ts';
import { lookUpNotice } from '../../src/notices/look-up.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { run } from '../cli/support/run.ts';
import { numbers } from '../support/fleet.ts';
import { until } from '../support/wait.ts';
import { holdingFleet } from './support/holding-fleet.ts';

const { redis, start } = holdingFleet();

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const timeOf = (at: number) => new Date(at).toISOString().slice(11, 16);

it('what is due out of hours waits for them, delays no other, expires in time, and goes when they open', async () => {
  // The next minute, where the time until then is enough for what is tried before.
  const opensAt = Math.ceil((Date.now() + 25 * SECOND) / MINUTE) * MINUTE;
  const SEND_WINDOWS = `P_*=${timeOf(opensAt)}-${timeOf(opensAt + 60 * MINUTE)} UTC`;
  const on = await start(2, { SEND_WINDOWS });
  const { emulator, queue, env } = on;
  const source = { redis: redis.client, keys: keysOf(env['REDIS_PREFIX'] ?? '', 'default') };
  const ledger = new Ledger(source.redis, source.keys);
  const contacts = (count: number, from: number) =>
    numbers(count, from).map((contact) => ({ contact }));
  const send = async (templateCode: string, from: number, forMs?: number) => {
    const expiresAt = forMs === undefined ? undefined : Date.now() + forMs;
    const { id } = await queue.send({ templateCode, contacts: contacts(1, from) }, { expiresAt });
    return { id, state: async () => (await lookUpNotice(source, id)).state };
  };
  const list = async (templateCode: string, from: number, forMs?: number) => {
    const expiresAt = forMs === undefined ? undefined : Date.now() + forMs;
    const options = { templateCode, chunkSize: 10, expiresAt };
    const { batch } = await queue.import(contacts(50, from), options);
    return { batch, counts: async () => (await ledger.read(batch))?.counts };
  };

  const waits = await send('P_ONE', 0);
  const expires = await send('P_ONE', 1, 3 * SECOND);
  const listWaits = await list('P_LIST', 1_000);
  const listExpires = await list('P_LIST', 2_000, 3 * SECOND);
  await send('O_ONE', 2);
  await list('O_LIST', 3_000);
  await until(() => emulator.record().distinct === 51, {
    what: 'those of other templates',
    deadlineMs: 5_000,
  });
  expect(await lookUpNotice(source, waits.id)).toMatchObject({
    state: 'pending',
    pending: { reason: 'sending-hours', until: opensAt, opens: `${timeOf(opensAt)} (UTC)` },
  });
  await until(async () => (await expires.state()) === 'expired', {
    what: 'the deadline of a notice',
  });
  await until(async () => (await listExpires.counts())?.expired === 50, {
    what: 'the deadline of a list',
  });
  const words = `waiting for ${timeOf(opensAt)} (UTC)`;
  const commands = [['status'], ['waiting'], ['show', waits.id], ['batch', listWaits.batch]];
  for (const command of commands) expect((await run(command, env)).stdout).toContain(words);
  expect(await listWaits.counts()).toMatchObject({ pending: 50, accepted: 0 });
  expect(Date.now()).toBeLessThan(opensAt);
  expect(emulator.record().distinct).toBe(51);

  await until(() => Date.now() >= opensAt, { what: 'the hours', deadlineMs: 90 * SECOND });
  await until(() => emulator.record().distinct === 102, {
    what: 'what waited',
    deadlineMs: 2 * SECOND,
  });
  await until(async () => (await listWaits.counts())?.accepted === 50, { what: 'the list' });
  expect(await waits.state()).toBe('accepted');
  expect(emulator.record()).toMatchObject({ distinct: 102, twice: 0 });
}, 150_000);
