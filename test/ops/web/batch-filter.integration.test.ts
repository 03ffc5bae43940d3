import { describe, expect, it } from 'vitest';
import { findBatches } from '../../../src/batch/ledger/batch-filter.ts';
import { buildBatch, contacts } from '../../batch/support/built-batch.ts';
import { errorOf, run } from '../../cli/support/run.ts';
import { testRedis } from '../../support/redis.ts';
import { expectDocumented, startOps } from './support/ops-bench.ts';

const redis = testRedis();
const PATH = '/api/v1/batches';
const HTML = { accept: 'text/html' };
const HOUR = 3_600_000;

/** Batches that were created 1, 3 and 50 hours ago; the second is paused. */
async function bench() {
  const prefix = redis.freshPrefix();
  const server = await startOps(redis.url, prefix);
  const { keys, ledger } = server.context;
  const now = Date.now();
  for (const [id, hours] of [
    ['old', 50],
    ['middle', 3],
    ['young', 1],
  ] as const) {
    await buildBatch(redis.client, prefix, id, [contacts(1)]);
    await redis.client.zadd(keys.batches, now - hours * HOUR, id);
  }
  await ledger.control('middle', 'pause');
  const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
  const viewer = await server.viewer();
  return { server, ledger, env, viewer, now };
}

describe('batches by time and phase', () => {
  it('are the same over HTTP, on the page and on the command line', async () => {
    const { env, viewer, now } = await bench();
    const iso = (hours: number) => new Date(now - hours * HOUR).toISOString();
    for (const [filter, ids] of [
      [{}, ['young', 'middle', 'old']],
      [{ since: '2h' }, ['young']],
      [{ phase: 'paused' }, ['middle']],
      [{ phase: 'paused', since: '2h' }, []],
      [{ since: iso(4), before: iso(2) }, ['middle']],
      [{ since: '4h', before: '2h' }, ['middle']],
      [{ before: String(now - 2 * HOUR) }, ['middle', 'old']],
      [{ phase: 'sending', since: iso(4) }, ['young']],
    ] as const) {
      const query = new URLSearchParams({ ...filter }).toString();
      const reply = await viewer.get(`${PATH}?${query}`);
      expectDocumented('GET', PATH, reply);
      const listed = (reply.json['batches'] as { id: string }[]).map(({ id }) => id);
      const { text } = await viewer.get(`/batches?${query}&offset=0`, HTML);
      const shown = [...text.matchAll(/href="\/batches\/(\w+)"/g)].map(([, id]) => id);
      const flags = Object.entries(filter).flatMap(([name, value]) => [`--${name}`, value]);
      const { stdout } = await run(['batches', ...flags, '--json'], env);
      const printed = (JSON.parse(stdout) as { batches: { id: string }[] }).batches.map(
        ({ id }) => id,
      );
      expect([filter, listed, shown, printed]).toEqual([filter, ids, ids, ids]);
    }
  });

  it('what contradicts or is no time is refused with the same words, and nothing is shown', async () => {
    const { env, viewer } = await bench();
    const filter = { since: '2026-02-30', before: 'noon', phase: 'open' };
    const query = new URLSearchParams(filter).toString();
    const reply = await viewer.get(`${PATH}?${query}`);
    expectDocumented('GET', PATH, reply);
    const issues = [{ field: 'phase' }, { field: 'since' }, { field: 'before' }];
    expect(reply).toMatchObject({ status: 400, json: { issues } });
    const page = await viewer.get(`/batches?${query}`, HTML);
    expect(page.status).toBe(400);
    expect(page.text).toContain('since: expected a time such as');
    expect(page.text).toContain('value="noon"');
    expect(page.text).toContain('<option value="open" selected>');
    expect(page.text).not.toContain('href="/batches/old"');
    const flags = Object.entries(filter).flatMap(([name, value]) => [`--${name}`, value]);
    const ended = await run(['batches', ...flags, '--json'], env);
    expect([ended.code, ended.stdout]).toEqual([2, '']);
    expect(errorOf(ended).message).toMatch(/^option '--since <time>'.* expected a time such as/);
    const never = await run(['batches', '--since', '1h', '--before', '2h', '--json'], env);
    const problem = '--since: expected a time earlier than --before';
    expect([never.code, errorOf(never).message]).toEqual([2, problem]);
  });

  it('a rare phase is read in bounded pieces, and the rest follows', async () => {
    const { ledger } = await bench();
    const read: string[] = [];
    for (let offset: number | null = 0; offset !== null;) {
      const page = { limit: 1, offset, mostRead: 1 };
      const found = await findBatches(ledger, { phase: 'sending' }, page);
      read.push(...found.batches.map(({ id }) => id));
      expect([found.total, (found.next ?? 9) > offset]).toEqual([3, true]);
      offset = found.next;
    }
    expect(read).toEqual(['young', 'old']);
  });
});
