import { expect, it } from 'vitest';
import type { UnknownNotice } from '../support/unknown-notices.ts';
import type { Status } from '../../src/ops/status.ts';
import { run } from '../cli/support/run.ts';
import { fleetOn, numbers } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';

const redis = testRedis();
const LONG = { deadlineMs: 40_000 };

/*
 * That each duplicate is counted and named in the log after a kill is a law of the chaos scenarios (test/chaos/support).
 */
it('a notice that may have been accepted counts as sent twice once it is, not before', async () => {
  const on = await fleetOn(redis, {
    env: {
      BACKOFF_BASE_MS: '50',
      BACKOFF_CAP_MS: '100',
      ATTEMPTS: '3',
    },
  });
  const { emulator } = on;
  const json = async <Answer>(...args: string[]) =>
    JSON.parse((await run([...args, '--json'], { ...on.env })).stdout) as Answer;
  const counted = async () => (await json<Status>('status')).possiblySentTwice;

  emulator.addFault({ on: 'send', status: 500, afterActing: true, times: 1 });
  emulator.addFault({ on: 'send', status: 400, code: 'NO' });
  const [contact = ''] = numbers(1);
  await on.queue.send({ templateCode: 'T', contacts: [{ contact }] });
  const unknown = async () =>
    (await json<{ notices: UnknownNotice[] }>('failures', '--state', 'unknown')).notices[0];
  const listed = await until(unknown, { what: 'unknown', ...LONG });
  expect(listed).toMatchObject({ code: 'NO', possiblySent: 1 });
  expect(emulator.record()).toMatchObject({ contacts: 1, twice: 0 });
  expect(await counted()).toEqual({ notices: 0, chunks: 0 });

  emulator.clearFaults();
  // A person sends it again: this may be a duplicate, and it is.
  const resend = ['decide', listed.id, '--state', 'unknown', '--as', 'resend', '--yes'];
  const { code } = await run(resend, { ...on.env });
  expect(code).toBe(0);
  await until(() => emulator.record().contacts === 2, { what: 'the duplicate', ...LONG });
  expect(await counted()).toEqual({ notices: 1, chunks: 0 });
}, 60_000);
