import { describe, expect, it, onTestFinished } from 'vitest';
import { readAudit } from '../../../src/ops/audit.ts';
import { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { buildBatch } from '../../batch/support/built-batch.ts';
import { failNotices } from '../../ops/support/failed-notices.ts';
import { parkNotice } from '../../ops/support/parked-notice.ts';
import { testRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { until } from '../../support/wait.ts';
import { startWorkerInProcess } from '../../workers/support/worker-in-process.ts';
import { errorOf, matching, run, start } from '../support/run.ts';

const redis = testRedis();
const BAD = '01000000009';

function open(prefix = redis.freshPrefix()) {
  const queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
  onTestFinished(() => queue.close());
  const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
  const notices = (...args: string[]) => run(args, env);
  const audit = () => readAudit(redis.client, keysOf(prefix, 'default'), 20);
  const reaches = (id: string, state: string) =>
    until(async () => (await queue.get(id)).state === state, {
      what: `${id} ${state}`,
      deadlineMs: 20_000,
    });
  return { prefix, queue, notices, audit, reaches };
}

/** Notices that a worker has sent and the service has refused: one for its number, one for its template. */
async function refused() {
  const opened = open();
  const { prefix, queue, reaches } = opened;
  const emulated = { rejectContacts: [BAD], unknownTemplates: ['GONE'] };
  const worker = await startWorkerInProcess(redis.url, prefix, {}, emulated);
  const number = await queue.send(
    { templateCode: 'CODE', contacts: [{ contact: BAD, var1: '=1+1' }] },
    { idempotencyKey: 'login-1' },
  );
  const template = await queue.send({
    templateCode: 'GONE',
    contacts: [{ contact: '01000000001' }],
  });
  await reaches(number.id, 'rejected');
  await reaches(template.id, 'rejected');
  await worker.stop();
  return { ...opened, number, template };
}

describe('failed single notices', () => {
  it('are listed by reason and filtered, without a number; exported with it, and recorded', async () => {
    const { notices, audit, number, template } = await refused();
    const { code, stdout } = await notices('failures');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^rejected +INVALID_CONTACT +1 +1 +HTTP 400/m);
    expect(stdout).toMatch(/^rejected +TEMPLATE_NOT_FOUND +1 +1 +HTTP 404/m);
    expect(stdout).toContain(number.id);
    expect(stdout).not.toContain(BAD);
    for (const [flags, ids] of [
      [['--code', 'INVALID_CONTACT'], [number.id]],
      [['--template', 'GONE'], [template.id]],
      [['--state', 'unknown'], []],
      [['--state', 'rejected', '--older-than', '1h'], []],
    ] as const) {
      const listed = await notices('failures', ...flags, '--json');
      const { notices: found } = JSON.parse(listed.stdout) as { notices: { id: string }[] };
      expect([flags, found.map(({ id }) => id)]).toEqual([flags, ids]);
    }
    expect(await audit()).toEqual([]);
    const csv = await notices(
      'failures',
      '--csv',
      '--code',
      'INVALID_CONTACT',
      '--why',
      'asked for',
    );
    expect(csv.stderr).toBe('Exported 1 contact.\n');
    const [head, line] = csv.stdout.split('\n');
    expect(head).toBe(
      '"contact","var1","rejected_state","rejected_code","rejected_reason","rejected_at","rejected_notice"',
    );
    expect(line).toMatch(
      new RegExp(`^"${BAD}","'=1\\+1","rejected","INVALID_CONTACT",.*,"${number.id}"$`),
    );
    expect(await audit()).toMatchObject([
      { what: 'download', target: 'single notices', as: 'all INVALID_CONTACT', why: 'asked for' },
    ]);
  });

  it('are sent again under their ids, after a preview, and keep their history', async () => {
    const { prefix, queue, notices, audit, reaches, number, template } = await refused();
    const asks = await notices('redrive', '--notices', '--json');
    expect([asks.code, errorOf(asks).message]).toEqual([
      2,
      'Send 2 notices again? There is no terminal to ask on: add --yes to confirm.',
    ]);
    const done = await notices('redrive', number.id, '--yes', '--why', 'fixed the number');
    expect(done).toMatchObject({ code: 0, stdout: '1 notice will be sent again.\n' });
    expect(done.stderr).toMatch(/INVALID_CONTACT/);
    expect(await audit()).toMatchObject([
      { what: 'redrive', target: number.id, as: 'rejected', contacts: 1, why: 'fixed the number' },
    ]);
    const view = await queue.get(number.id);
    expect(view).toMatchObject({ state: 'pending', attempts: 0, possiblySent: 0 });
    // What waits is not failed: it is not sent again twice.
    const twice = await notices('redrive', number.id, '--yes', '--json');
    expect([twice.code, JSON.parse(twice.stdout)]).toEqual([
      1,
      { done: 0, contacts: 0, late: 0, gone: 1, left: 0 },
    ]);
    const worker = await startWorkerInProcess(redis.url, prefix);
    onTestFinished(() => worker.stop());
    await reaches(number.id, 'accepted');
    const rest = await notices('redrive', '--notices', '--yes', '--rate', '100', '--json');
    expect(JSON.parse(rest.stdout)).toMatchObject({ done: 1, gone: 0 });
    await reaches(template.id, 'accepted');
    expect(worker.emulator.record()).toMatchObject({ contacts: 2 });
  });

  it('are deleted; their idempotency keys are released only where it is asked for', async () => {
    const { queue, notices, audit, number } = await refused();
    const notice = { templateCode: 'CODE', contacts: [{ contact: BAD, var1: '=1+1' }] };
    const options = { idempotencyKey: 'login-1' };
    expect(await queue.send(notice, options)).toMatchObject({ duplicate: true });
    const flags = ['--code', 'INVALID_CONTACT', '--release-key', '--yes', '--why', 'obsolete'];
    const done = await notices('delete', '--notices', ...flags);
    expect(done).toMatchObject({ code: 0, stdout: '1 notice deleted.\n' });
    expect(await audit()).toMatchObject([
      { what: 'delete', target: number.id, as: 'rejected INVALID_CONTACT', why: 'obsolete' },
    ]);
    expect(await queue.get(number.id)).toMatchObject({ state: 'not-kept' });
    expect(await queue.send(notice, options)).toMatchObject({ duplicate: false });
    const kept = await notices('delete', '--notices', '--yes', '--json');
    expect(JSON.parse(kept.stdout)).toMatchObject({ done: 1 });
    expect((await notices('failures')).stdout).toBe('No notice failed.\n');
  });

  it.each([
    ['delete', /Delete 2 notices\?.*\[y/, '2 notices deleted.\n'],
    ['redrive', /Send 2 notices again\?.*\[y/, '2 notices will be sent again.\n'],
  ])('%s: what fails while it asks is left as it is', async (verb, question, says) => {
    const { prefix, queue, reaches } = await refused();
    const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
    const running = start([verb, '--notices'], env, true);
    await matching(() => running.stderr(), question);
    const worker = await startWorkerInProcess(redis.url, prefix, {}, { rejectContacts: [BAD] });
    const later = await queue.send({ templateCode: 'LATER', contacts: [{ contact: BAD }] });
    await reaches(later.id, 'rejected');
    await worker.stop();
    running.stdin.write('y\n');
    expect(await running.ended).toMatchObject({ code: 0, stdout: says });
    expect((await queue.get(later.id)).state).toBe('rejected');
  });

  it('stopped by Ctrl-C: exit code 1, and the rest is left', async () => {
    const { prefix } = open();
    const { keys } = await failNotices(redis, prefix, { count: 60 });
    const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
    const running = start(['redrive', '--notices', '--rate', '1', '--yes'], env);
    const left = () => redis.client.zcard(keys.endedIn('rejected'));
    await until(async () => (await left()) < 60, { what: 'the first', deadlineMs: 20_000 });
    running.stop('SIGINT');
    const { code, stdout } = await running.ended;
    const done = 60 - (await left());
    expect([code, stdout]).toEqual([
      1,
      `${done} notice${done === 1 ? '' : 's'} will be sent again.\n${60 - done} left unchanged.\nStopped. Run the command again for the rest.\n`,
    ]);
    expect(done).toBeLessThan(60);
  });

  it('unknown ones are left out, unless they are named; then they cannot be cancelled', async () => {
    const parked = await parkNotice(redis);
    const { notices, queue } = open(parked.prefix);
    const none = await notices('redrive', '--notices', '--yes');
    expect(none).toMatchObject({
      code: 0,
      stdout: 'No failed notice matches; nothing was done.\n',
    });
    expect((await notices('delete', parked.id, '--yes')).code).toBe(1);
    expect((await notices('failures', '--state', 'unknown')).stdout).toContain(parked.id);
    const done = await notices('redrive', parked.id, '--state', 'unknown', '--yes', '--json');
    expect(JSON.parse(done.stdout)).toEqual({ done: 1, contacts: 1, late: 0, gone: 0, left: 0 });
    expect(await queue.get(parked.id)).toMatchObject({ state: 'pending', possiblySent: 1 });
    expect(await queue.cancel(parked.id)).toMatchObject({ answer: 'possibly-sent' });
  });

  it('flags that contradict each other, or are for single notices only, are refused', async () => {
    const { prefix, notices } = open();
    await buildBatch(redis.client, prefix, 'b', [[{ contact: '01000000001' }]]);
    for (const [args, message] of [
      [['redrive'], 'use either ids or --notices'],
      [['redrive', 'n-1', '--notices'], 'use either ids or --notices'],
      [['delete'], 'use either ids or --notices'],
      [['redrive', '--notices', '--state', 'expired'], '--state: expected rejected, unknown'],
      [['failures', 'b', '--template', 'T'], '--template: leave it out here'],
      [['redrive', 'b', '--older-than', '1h'], '--older-than: leave it out here'],
    ] as const) {
      const ended = await notices(...args, '--json');
      expect([args, ended.code, errorOf(ended).message]).toEqual([args, 2, message]);
    }
    expect((await notices('redrive', 'b', '--yes')).stdout).toMatch(/^No contact matches/);
    expect((await notices('redrive', 'no-such', '--json')).code).toBe(1);
  });
});
