import { describe, expect, it, onTestFinished } from 'vitest';
import { readAudit } from '../../../src/ops/audit.ts';
import { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { endAs, failNotices } from '../../ops/support/failed-notices.ts';
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
    expect(stdout).toMatch(/^ *rejected +INVALID_CONTACT +1 +HTTP 400/m);
    expect(stdout).toMatch(/^ *rejected +TEMPLATE_NOT_FOUND +1 +HTTP 404/m);
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
    expect(head).toMatch(/^"contact","var1","rejected_row","rejected_state","rejected_code",/);
    expect(line).toMatch(
      new RegExp(`^"${BAD}","'=1\\+1","","rejected","INVALID_CONTACT",.*,"${number.id}",""$`),
    );
    expect(await audit()).toMatchObject([
      { what: 'download', target: 'failures', as: 'rejected INVALID_CONTACT', why: 'asked for' },
    ]);
  });

  it('those on the do-not-send list are listed by name only, and no decision takes them', async () => {
    const { prefix, notices } = open();
    const { ids, keys } = await failNotices(redis, prefix, { count: 1 });
    const [id = ''] = ids;
    await endAs(redis.client, keys, id, { state: 'suppressed', code: 'SUPPRESSED' });
    const listed = await notices('failures', '--state', 'suppressed');
    expect([listed.code, listed.stdout]).toEqual([0, expect.stringContaining(id)]);
    expect(listed.stdout).toMatch(/^ *suppressed +SUPPRESSED +1/m);
    expect((await notices('failures')).stdout).not.toContain(id);
    const decide = ['decide', '--as', 'resend', '--state'];
    expect(await notices(...decide, 'suppressed', '--yes')).toMatchObject({ code: 2 });
    await notices(...decide, 'rejected', '--yes');
    expect((await notices('show', id)).stdout).toMatch(/^state +suppressed$/m);
  });

  it('are sent again under their ids, after a preview, and keep their history', async () => {
    const { prefix, queue, notices, audit, reaches, number, template } = await refused();
    const asks = await notices('decide', '--single', '--as', 'resend', '--json');
    expect([asks.code, errorOf(asks).message]).toEqual([
      2,
      'Send 2 contacts again? There is no terminal to ask on: add --yes to confirm.',
    ]);
    const one = [number.id, '--as', 'resend', '--yes'];
    const done = await notices('decide', ...one, '--why', 'fixed the number');
    expect(done).toMatchObject({ code: 0, stdout: '1 contact will be sent again.\n' });
    expect(done.stderr).toMatch(/INVALID_CONTACT/);
    const entry = { what: 'decide', target: number.id, as: 'resend rejected', contacts: 1 };
    expect(await audit()).toMatchObject([{ ...entry, why: 'fixed the number' }]);
    const view = await queue.get(number.id);
    expect(view).toMatchObject({ state: 'pending', attempts: 0, possiblySent: 0 });
    // What waits is not failed: it is not sent again twice.
    const twice = await notices('decide', ...one, '--json');
    expect([twice.code, JSON.parse(twice.stdout)]).toMatchObject([1, { done: 0, gone: 1 }]);
    const worker = await startWorkerInProcess(redis.url, prefix);
    onTestFinished(() => worker.stop());
    await reaches(number.id, 'accepted');
    const all = ['--single', '--as', 'resend', '--yes', '--rate', '100', '--json'];
    const rest = await notices('decide', ...all);
    expect(JSON.parse(rest.stdout)).toMatchObject({ done: 1, gone: 0 });
    await reaches(template.id, 'accepted');
    expect(worker.emulator.record()).toMatchObject({ contacts: 2 });
  });

  it('are given up; their idempotency keys are released only where it is asked for', async () => {
    const { queue, notices, audit, number } = await refused();
    const notice = { templateCode: 'CODE', contacts: [{ contact: BAD, var1: '=1+1' }] };
    const options = { idempotencyKey: 'login-1' };
    expect(await queue.send(notice, options)).toMatchObject({ duplicate: true });
    const discard = ['decide', '--as', 'discard', '--state', 'rejected', '--yes'];
    const flags = ['--code', 'INVALID_CONTACT', '--release-key', '--why', 'obsolete'];
    const done = await notices(...discard, ...flags);
    expect(done).toMatchObject({ code: 0, stdout: '1 contact given up.\n' });
    const as = 'discard rejected INVALID_CONTACT';
    expect(await audit()).toMatchObject([
      { what: 'decide', target: number.id, as, why: 'obsolete' },
    ]);
    expect(await queue.get(number.id)).toMatchObject({ state: 'cancelled' });
    expect(await queue.send(notice, options)).toMatchObject({ duplicate: false });
    const kept = await notices(...discard, '--json');
    expect(JSON.parse(kept.stdout)).toMatchObject({ done: 1 });
    expect((await notices('failures')).stdout).toBe('No notice or contact that matches failed.\n');
  });

  it.each([
    ['discard', /Give 2 contacts up\?.*\[y/, '2 contacts given up.\n'],
    ['resend', /Send 2 contacts again\?.*\[y/, '2 contacts will be sent again.\n'],
  ])('%s: what fails while it asks is left as it is', async (as, question, says) => {
    const { prefix, queue, reaches } = await refused();
    const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
    const running = start(['decide', '--state', 'rejected', '--as', as], env, true);
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
    const args = ['decide', '--single', '--as', 'resend', '--rate', '1', '--yes'];
    const running = start(args, env);
    const left = () => redis.client.zcard(keys.endedIn('rejected'));
    await until(async () => (await left()) < 60, { what: 'the first', deadlineMs: 20_000 });
    running.stop('SIGINT');
    const { code, stdout } = await running.ended;
    const done = 60 - (await left());
    expect([code, stdout]).toEqual([
      1,
      `${done} contact${done === 1 ? '' : 's'} will be sent again.\nNot all that match were tried.\nStopped. Run the command again for the rest.\n`,
    ]);
    expect(done).toBeLessThan(60);
  });

  it('unknown ones are left out, unless they are named; then they cannot be cancelled', async () => {
    const parked = await parkNotice(redis);
    const { notices, queue } = open(parked.prefix);
    const resend = ['decide', parked.id, '--as', 'resend', '--yes', '--json'];
    const none = await notices(...resend);
    expect([none.code, JSON.parse(none.stdout)]).toMatchObject([1, { done: 0, gone: 1 }]);
    expect((await notices('failures', '--state', 'unknown')).stdout).toContain(parked.id);
    const done = await notices(...resend, '--state', 'unknown');
    expect(JSON.parse(done.stdout)).toMatchObject({ done: 1, contacts: 1, gone: 0 });
    expect(await queue.get(parked.id)).toMatchObject({ state: 'pending', possiblySent: 1 });
    expect(await queue.cancel(parked.id)).toMatchObject({ answer: 'possibly-sent' });
  });
});
