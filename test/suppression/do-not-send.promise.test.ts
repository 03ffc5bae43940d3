import { describe, expect, it, onTestFinished } from 'vitest';
import { rowResults } from '../../src/batch/failures/row-results.ts';
import { Ledger } from '../../src/batch/ledger/ledger.ts';
import { readWorkers } from '../../src/fleet/heartbeat.ts';
import { readPossiblySentTwice } from '../../src/fleet/possibly-sent-twice.ts';
import { lookUpNotice } from '../../src/notices/look-up.ts';
import { rowsOfPayload } from '../../src/payload/chunk-payload.ts';
import { NO_SEALING, sealingOf } from '../../src/payload/seal.ts';
import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { findContact } from '../../src/search/find-contact.ts';
import { DoNotSendList } from '../../src/suppression/do-not-send.ts';
import { numbers, startFleet, type LogLine } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { until } from '../support/wait.ts';

const redis = testRedis();

async function world(env: Readonly<Record<string, string>> = {}) {
  const prefix = redis.freshPrefix();
  const fast = {
    BACKOFF_BASE_MS: '1500',
    BACKOFF_CAP_MS: '1500',
    HOLD_PROBE_MIN_MS: '100',
    ...env,
  };
  const on = await startFleet({ redisUrl: redis.url, prefix, processes: 1, env: fast });
  onTestFinished(() => on.close());
  const keys = keysOf(prefix, 'default');
  const list = new DoNotSendList(redis.client, keys, NO_SEALING);
  const ledger = new Ledger(redis.client, keys);
  const source = { redis: redis.client, keys };
  const findKey = Buffer.alloc(32, 7).toString('base64');
  const finding = { redis: connectionAs('application', redis.url), prefix, findKey };
  const producer = new NoticeQueue(finding);
  onTestFinished(() => producer.close());
  return {
    ...on,
    keys,
    list,
    ledger,
    finding,
    producer,
    show: (id: string) => lookUpNotice(source, id),
    status: () => readPossiblySentTwice(redis.client, keys),
    /** A second from now: then a hint has arrived. */
    send: async (...contacts: string[]) => {
      const notice = { templateCode: 'ONE', contacts: contacts.map((contact) => ({ contact })) };
      const { id } = await on.queue.send(notice, { delay: 1_000 });
      return { id, view: () => lookUpNotice(source, id) };
    },
    importList: async (some: readonly string[]) => {
      const { batch } = await producer.import(
        some.map((contact) => ({ contact })),
        { templateCode: 'LIST', chunkSize: 10 },
      );
      return batch;
    },
    ended: (batch: string) =>
      until(
        async () => {
          const found = await ledger.read(batch);
          return found?.phase === 'finished' ? found : undefined;
        },
        { what: 'the end of the list', deadlineMs: 20_000 },
      ),
  };
}

const sentTo = (emulator: { contacts(): Iterable<{ readonly contact: string }> }) =>
  [...emulator.contacts()].map(({ contact }) => contact).sort();

describe('nothing is sent to a number on the do-not-send list', () => {
  it('of a list: its row is suppressed, the others go, and all add up', async () => {
    const { emulator, list, ledger, importList, ended, queue } = await world();
    const all = numbers(40);
    // One whole chunk, and one in each of two others.
    const suppressed = [...all.slice(0, 10), all[15] ?? '', all[39] ?? ''];
    await list.add(suppressed, 'opt-out');
    const batch = await ended(await importList(all));
    expect(batch.counts).toMatchObject({ total: 40, accepted: 28, suppressed: 12, rejected: 0 });
    expect(sentTo(emulator)).toEqual(all.filter((number) => !suppressed.includes(number)));
    const { results, rows, found } = await rowResults(ledger, batch, (bytes) =>
      rowsOfPayload(bytes),
    );
    expect([rows, found]).toEqual([40, 40]);
    const states = results.flatMap(({ from, to, state }) =>
      Array.from({ length: to - from + 1 }, () => state),
    );
    const expected = all.map((number) => (suppressed.includes(number) ? 'suppressed' : 'accepted'));
    expect(states).toEqual(expected);
    expect(await ledger.failureSums(batch.id)).toEqual([]);
    expect(await ledger.unsent()).toBe(0);
    const events = [];
    for await (const event of queue.events({ from: '0', signal: AbortSignal.timeout(1_000) })) {
      if (event.event === 'batch.finished') events.push(event);
      if (events.length > 0) break;
    }
    expect(events).toMatchObject([{ accepted: 28, suppressed: 12 }]);
  }, 60_000);

  it('of a single notice, a second after the first entry; and the others of a notice get it', async () => {
    const { emulator, list, send } = await world();
    const [one = '', two = '', three = ''] = numbers(3);
    const before = await send(one);
    await until(async () => (await before.view()).state === 'accepted', { what: 'the first' });
    await list.add([two, `82${one.slice(1)}`], 'complaint');
    const alone = await send(two);
    await until(async () => (await alone.view()).state === 'suppressed', { what: 'the end' });
    expect(await alone.view()).toMatchObject({ code: 'SUPPRESSED', attempts: 0, possiblySent: 0 });
    const inNationalForm = await send(one);
    await until(async () => (await inNationalForm.view()).state === 'suppressed', { what: 'it' });
    const together = await send(two, three);
    await until(async () => (await together.view()).state === 'accepted', { what: 'the others' });
    expect(sentTo(emulator)).toEqual([one, three].sort());
    await list.remove([two]);
    const again = await send(two);
    await until(async () => (await again.view()).state === 'accepted', { what: 'after a removal' });
  }, 60_000);

  it('by a worker that cannot read the list: it is not ready, and says why once', async () => {
    const { emulator, keys, workers, send } = await world({ HEARTBEAT_MS: '100' });
    const sealing = sealingOf('default', { payloadKey: '42'.repeat(32) });
    const sealed = new DoNotSendList(redis.client, keys, sealing);
    const [one = '', two = ''] = numbers(2);
    await sealed.add([one], 'opt-out');
    const { view } = await send(two);
    const isUnready = async () =>
      (await readWorkers(redis.client, keys)).some(({ unready = [] }) =>
        unready.some(({ reason }) => reason === 'payload-key'),
      );
    await until(isUnready, { what: 'the worker to be not ready' });
    await until(async () => (await view()).state === 'pending', { what: 'the notice to wait' });
    const isTrouble = ({ event, where }: LogLine) => event === 'trouble' && where === 'do-not-send';
    const [line, ...others] = workers.flatMap(({ lines }) => lines.filter(isTrouble));
    expect(line).toMatchObject({ code: 'NOT_POSSIBLE', message: expect.any(String) as string });
    expect(others).toEqual([]);
    expect(sentTo(emulator)).toEqual([]);
    await sealed.remove([one]);
    await until(async () => (await view()).state === 'accepted', { what: 'the end' });
  }, 60_000);

  it('of a retry: it is asked for at each attempt', async () => {
    const { emulator, list, ledger, finding, send, importList, ended } = await world();
    const [one = '', ...others] = numbers(11);
    emulator.addFault({ on: 'send', status: 500, afterActing: true, times: 2 });
    const notice = await send(one);
    const id = await importList(others);
    await until(() => emulator.record().contacts === 11, { what: 'the first attempts' });
    await list.add([one, others[3] ?? ''], 'opt-out');
    await until(async () => (await notice.view()).state === 'suppressed', {
      what: 'the second attempt',
      deadlineMs: 20_000,
    });
    // The history tells that the first may have arrived.
    expect(await notice.view()).toMatchObject({ possiblySent: 1 });
    const { counts } = await ended(id);
    expect(counts).toMatchObject({ accepted: 9, suppressed: 1, possiblySentTwice: 9 });
    expect(emulator.record()).toMatchObject({ twice: 9 });
    expect((await ledger.read(id))?.phase).toBe('finished');
    const { results } = await rowResults(ledger, await ended(id), (bytes) => rowsOfPayload(bytes));
    expect(results.filter(({ state }) => state === 'suppressed')).toMatchObject([
      { from: 4, to: 4, code: 'SUPPRESSED', message: 'an earlier attempt may have arrived' },
    ]);
    const { contacts } = await findContact(others[3] ?? '', finding);
    expect(contacts).toMatchObject([{ states: ['suppressed'], possiblySent: 1, confirmed: false }]);
  }, 60_000);

  it('of one of several: the others alone are counted, and no answer says that it was sent to', async () => {
    const { emulator, list, queue, producer, finding, show, status } = await world();
    const [one = '', two = ''] = numbers(2);
    await list.add([one], 'opt-out');
    const notice = { templateCode: 'ONE', contacts: [{ contact: one }, { contact: two }] };
    emulator.addFault({ on: 'send', status: 500, afterActing: true, times: 1 });
    const { id } = await producer.send(notice, { delay: 1_000 });
    const end = async (of: string, state: string) =>
      until(async () => (await show(of)).state === state, { what: state, deadlineMs: 20_000 });
    await end(id, 'accepted');
    expect(await show(id)).toMatchObject({ contacts: 1, suppressed: 1, possiblySent: 1 });
    expect(await status()).toMatchObject({ notices: 1 });
    for (const number of [one, two]) {
      const { notices } = await findContact(number, finding);
      expect(notices).toMatchObject([{ states: ['accepted', 'suppressed'], confirmed: false }]);
    }
    emulator.addFault({ on: 'send', status: 400, code: 'NO' });
    const refused = await queue.send(notice);
    await end(refused.id, 'rejected');
    expect(await show(refused.id)).toMatchObject({ contacts: 1, suppressed: 1 });
  }, 60_000);
});
