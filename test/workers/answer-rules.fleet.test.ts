import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { EXAMPLE_RULES } from '../../scripts/answers-page.ts';
import { numbers, fleetOn } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { run } from '../cli/support/run.ts';
import { until } from '../support/wait.ts';

const redis = testRedis();

it('answers are judged by ANSWER_RULES_FILE where the built-in table would accept them; an invalid file is refused at the start', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'notices-rules-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'rules.json');
  writeFileSync(file, JSON.stringify(EXAMPLE_RULES));
  const on = await fleetOn(redis, {
    env: { ANSWER_RULES_FILE: file, BACKOFF_BASE_MS: '50', BACKOFF_CAP_MS: '100' },
  });
  const { emulator, queue } = on;
  const contacts = numbers(3);
  /** Sends a notice that is answered so once. */
  const send = async (body: object, status = 200) => {
    emulator.addFault({ on: 'send', status, body, times: 1 });
    const contact = contacts.pop() ?? '';
    const { id } = await queue.send({ templateCode: 'T', contacts: [{ contact }] });
    return (outcome: string) =>
      until(() => on.attempts().find((line) => line['job'] === id && line['outcome'] === outcome), {
        what: `${outcome} of ${id}`,
        deadlineMs: 30_000,
      });
  };
  const rejected = await send({ code: 'TEMPLATE_NOT_APPROVED', message: 'not yet' });
  expect(await rejected('rejected')).toMatchObject({
    code: 'TEMPLATE_NOT_APPROVED',
    status: 200,
    rule: 1,
  });
  const retried = await send({ data: { status: 'BUSY' } });
  expect(await retried('retry')).toMatchObject({ code: 'ANSWER_RULE_2', rule: 2 });
  expect(await retried('accepted')).toMatchObject({ attempt: 2 });
  const held = await send({ error: { code: 'QUOTA_EXCEEDED' } }, 400);
  expect(await held('hold')).toMatchObject({ hold: 'credit', code: 'QUOTA_EXCEEDED' });
  expect(await held('accepted')).not.toHaveProperty('rule');
  expect(emulator.record()).toMatchObject({ contacts: 2, twice: 0 });

  writeFileSync(file, JSON.stringify({ rules: [{ code: 'A', outcome: 'okay' }] }));
  const { code, stderr } = await run(['worker'], { ...on.env });
  expect(code).toBe(2);
  expect(stderr).toMatch(/ANSWER_RULES_FILE.*rules\.0\.outcome: expected one of accepted/);
}, 60_000);
