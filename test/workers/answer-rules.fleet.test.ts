import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { EXAMPLE_RULES } from '../../scripts/answers-page.ts';
import { run } from '../cli/support/run.ts';
import { room } from '../service-coverage/support/line.ts';
import { numbers } from '../support/fleet.ts';
import { until } from '../support/wait.ts';
import { temporaryFile } from '../support/temporary.ts';

const lines = room();

it('answers are judged by ANSWER_RULES_FILE where the built-in table would accept them; an invalid file is refused at the start', async () => {
  const file = temporaryFile(JSON.stringify(EXAMPLE_RULES), 'rules.json');
  const { emulator, deliverUntil } = await lines.direct({ ANSWER_RULES_FILE: file });
  const [first = '', second = '', third = ''] = numbers(3);
  const send = (contact: string, outcome: string, body: object, status = 200) => {
    emulator.addFault({ on: 'send', status, body, times: 1, containing: contact });
    return deliverUntil(outcome, { templateCode: 'T', contacts: [{ contact }] });
  };
  const refusal = { code: 'TEMPLATE_NOT_APPROVED', message: 'not yet' };
  const rejected = { code: 'TEMPLATE_NOT_APPROVED', status: 200, rule: 1 };
  expect(await send(first, 'rejected', refusal)).toMatchObject(rejected);
  const busy = { data: { status: 'BUSY' } };
  const retried = { code: 'ANSWER_RULE_2', rule: 2 };
  expect(await send(second, 'retry', busy)).toMatchObject(retried);
  const spent = { error: { code: 'QUOTA_EXCEEDED' } };
  const held = { hold: 'credit', code: 'QUOTA_EXCEEDED' };
  expect(await send(third, 'hold', spent, 400)).toMatchObject(held);
  const after = await deliverUntil('accepted', {
    templateCode: 'T',
    contacts: [{ contact: first }],
  });
  expect(after).not.toHaveProperty('rule');
  await until(() => emulator.record().distinct === 3, { what: 'the other two' });
  expect(emulator.record().twice).toBe(0);

  const env = {
    REDIS_URL: lines.redis.url,
    BASE_URL: emulator.url,
    ACCESS_KEY: 'a',
    SECRET_KEY: 'b',
  };
  writeFileSync(file, JSON.stringify({ rules: [{ code: 'A', outcome: 'okay' }] }));
  const { code, stderr } = await run(['worker'], { ...env, ANSWER_RULES_FILE: file });
  expect(code).toBe(2);
  expect(stderr).toMatch(/ANSWER_RULES_FILE.*rules\.0\.outcome: expected one of accepted/);
});
