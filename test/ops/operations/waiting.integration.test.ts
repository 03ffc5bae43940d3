import { describe, expect, it } from 'vitest';
import { NoticeAdmin } from '../../../src/admin/index.ts';
import { readAudit } from '../../../src/ops/audit.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { errorOf, run, start } from '../../cli/support/run.ts';
import { testRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { startOps } from '../web/support/ops-bench.ts';

const redis = testRedis();
const WRONG = { templateCode: 'WRONG', contacts: [{ contact: '01000000001' }] };
const RIGHT = { templateCode: 'RIGHT', contacts: [{ contact: '01000000002' }] };
const many = <Item>(count: number, item: Item) => Array.from({ length: count }, () => item);

function open() {
  const { prefix, queue, env } = redis.account();
  const audit = () => readAudit(redis.client, keysOf(prefix, 'default'), 10);
  const states = async (ids: readonly { readonly id: string }[]) => {
    const views = await Promise.all(ids.map(({ id }) => queue.get(id)));
    return [...new Set(views.map(({ state }) => state))];
  };
  return { prefix, queue, env, audit, states };
}

describe('notices that wait, because a bug has enqueued them', () => {
  it('are summed up by template and cancelled after a preview; others stay', async () => {
    const { queue, env, audit, states } = open();
    const wrong = await queue.sendMany(many(450, WRONG));
    const later = await queue.sendMany(many(30, WRONG), { delay: 3_600_000 });
    const first = await queue.sendMany(many(20, WRONG), { priority: 5 });
    const right = await queue.sendMany(many(7, RIGHT));

    const shown = await run('waiting --json', env);
    expect(JSON.parse(shown.stdout)).toMatchObject({
      notices: 507,
      contacts: 507,
      complete: true,
      groups: [
        { state: 'waiting', template: 'WRONG', notices: 470, contacts: 470 },
        { state: 'delayed', template: 'WRONG', notices: 30 },
        { state: 'waiting', template: 'RIGHT', notices: 7 },
      ],
    });
    const asked = start('cancel --template WRONG --queued-after 1h', env, true);
    asked.stdin.write('n\n');
    const declined = await asked.ended;
    expect(declined.code).toBe(1);
    expect(declined.stderr).toMatch(/^waiting +WRONG +470 +470 /m);
    expect(declined.stderr).toContain('Cancel 500 notices (500 contacts)? They are never sent.');
    expect(await states(wrong)).toEqual(['pending']);

    const args = ['cancel', '--template', 'WRONG', '--queued-after', '1h', '--yes'];
    const done = await run([...args, '--why', 'a loop in the shop'], env);
    expect(done).toMatchObject({
      code: 0,
      stdout: '500 notices (500 contacts) cancelled: they were not sent and will not be.\n',
    });
    expect(await states([...wrong, ...later, ...first])).toEqual(['cancelled']);
    expect(await states(right)).toEqual(['pending']);
    const entry = { what: 'cancel', target: 'single notices', as: 'cancelled WRONG' };
    const why = 'a loop in the shop';
    expect(await audit()).toMatchObject([{ ...entry, contacts: 500, why }]);
    expect((await run(args, env)).stdout).toBe('No notice was cancelled.\n');
  });

  it('are selected by time and state, and released keys can be used anew', async () => {
    const { queue, env, states } = open();
    const early = await queue.send(WRONG);
    const between = (await queue.get(early.id)).enqueuedAt ?? 0;
    const late = await queue.send(WRONG, { idempotencyKey: 'k', delay: 60_000 });
    const after = new Date(between + 1).toISOString();
    const filter = `--queued-after ${after} --state delayed`;
    const done = await run(`cancel ${filter} --release-key --yes --json`, env);
    expect(JSON.parse(done.stdout)).toMatchObject({ cancelled: 1, complete: true });
    expect([await states([early]), await states([late])]).toEqual([['pending'], ['cancelled']]);
    expect(await queue.send(WRONG, { idempotencyKey: 'k' })).toMatchObject({ duplicate: false });
  });

  it('are selected by a phone number, which is recorded', async () => {
    const { queue, env, audit, states } = open();
    const [wrong, right] = [await queue.send(WRONG), await queue.send(RIGHT)];
    const shown = await run('waiting --number 010-0000-0002 --json', env);
    expect(JSON.parse(shown.stdout)).toMatchObject({ notices: 1, groups: [{ template: 'RIGHT' }] });
    const search = { what: 'search', target: 'number 010******02' };
    expect(await audit()).toMatchObject([search]);
    const done = await run('cancel --number - --yes --json', env, '01000000002\n');
    expect(JSON.parse(done.stdout)).toMatchObject({ cancelled: 1, complete: true });
    expect([await states([wrong]), await states([right])]).toEqual([['pending'], ['cancelled']]);
  });

  it('at a rate and up to a limit; the answer over HTTP says when to repeat', async () => {
    const { prefix, queue, states } = open();
    const wrong = await queue.sendMany(many(30, WRONG));
    const server = await startOps(redis.url, prefix);
    const [operator, viewer] = [await server.operator(), await server.viewer()];
    const preview = await viewer.get('/api/v1/waiting?template=WRONG&queuedAfter=1h');
    expect(preview.json).toMatchObject({ notices: 30, complete: true });
    const part = await viewer.get('/api/v1/waiting?most=10');
    expect(part.json).toMatchObject({ notices: 10, complete: false });
    const path = '/api/v1/waiting/cancel';
    const body = { template: 'WRONG', limit: 10, rate: 100, why: 'a loop' };
    const some = await operator.post(path, body);
    const waitMs = expect.any(Number) as number;
    expect(some.json).toMatchObject({ cancelled: 10, complete: false, waitMs });
    const rest = await operator.post(path, { template: 'WRONG', why: 'a loop' });
    expect(rest.json).toMatchObject({ cancelled: 20, complete: true });
    expect(await states(wrong)).toEqual(['cancelled']);
    expect((await operator.post(path, { why: 'all of it' })).status).toBe(400);
  });

  it('a signal stops it, and the report says so', async () => {
    const { prefix, queue } = open();
    await queue.sendMany(many(40, WRONG));
    const admin = new NoticeAdmin({ redis: connectionAs('ops', redis.url), prefix, who: 'shop' });
    const input = { template: 'WRONG', rate: 20 };
    const signal = AbortSignal.timeout(500);
    const stopped = await admin.run('cancel', input, { signal });
    expect(stopped.complete).toBe(false);
    expect(stopped.cancelled).toBeLessThan(40);
    const left = await admin.run('waiting', {});
    expect(left.notices).toBe(40 - stopped.cancelled);
  });

  it.each([
    [[], 'use either an id, --key, or flags that select'],
    [['n-1', '--template', 'T'], 'use either an id, --key, or flags that select'],
    [['--limit', '5'], '--template: expected at least one of --template, --state, --queued-after'],
    [['--template', 'T', '--queued-before', 'noon'], 'is invalid. expected a time such as'],
    [['--queued-after', '5'], "'5' is invalid. expected a time such as"],
  ])('notices cancel %j is wrong usage', async (args, message) => {
    const { env } = open();
    const ended = await run(['cancel', ...args, '--yes', '--json'], env);
    expect([ended.code, errorOf(ended).message]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe('one template', () => {
  it('is held and lifted by hand, while others are sent; recorded', async () => {
    const { prefix, env, audit } = open();
    const placed = await run(['hold', 'place', '--template', 'T', '--why', 'a typo'], env);
    expect(placed).toMatchObject({ code: 0, stderr: '' });
    expect(placed.stdout).toMatch(/^template T \(a typo\) .*"notices hold lift --template T"/);
    const shown = await run(['hold'], env);
    expect(shown.stdout).toMatch(/^none\ntemplate T \(a typo\)/);
    const server = await startOps(redis.url, prefix);
    const operator = await server.operator();
    const held = await operator.get('/api/v1/hold');
    expect(held.json).toMatchObject({ hold: null, templates: [{ template: 'T', kind: 'manual' }] });
    await operator.post('/api/v1/hold/place', { why: 'of the queue' });
    for (const template of [{ template: 'T' }, {}]) {
      const other = await operator.post('/api/v1/hold/lift', { ...template, kind: 'credit' });
      expect([other.status, other.json['code']]).toEqual([409, 'NOT_POSSIBLE']);
    }
    const lifted = await run('hold lift --template T --why corrected', env);
    expect(lifted.stdout).toBe('Hold "manual" of template T lifted.\n');
    const again = await run('hold lift --template T', env);
    expect(again.stdout).toBe('No hold of template T was active.\n');
    expect(await audit()).toMatchObject([
      { what: 'hold', target: 'template T', as: 'lifted manual', why: 'corrected' },
      { what: 'hold', target: 'queue', as: 'placed' },
      { what: 'hold', target: 'template T', as: 'placed', why: 'a typo' },
    ]);
  });
});
