import { expect, it } from 'vitest';
import { EXAMPLE_RULES } from '../../../scripts/answers-page.ts';
import { answerRulesSchema } from '../../../src/contracts/answer-rules.ts';
import { explain } from '../../../src/cli/doctor/explain-answer.ts';
import { temporaryFile } from '../../config/support.ts';
import { run } from '../support/run.ts';

const RULES = answerRulesSchema.parse(EXAMPLE_RULES);

it.each([
  [
    'HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n\r\n{"code":"NO_TEMPLATE"}',
    {
      status: 404,
      row: 'other 4xx',
      outcome: { kind: 'rejected', code: 'NO_TEMPLATE' },
    },
  ],
  [
    'HTTP/2 502\ncontent-type: text/html\n\n<html>gone</html>',
    {
      status: 502,
      body: 'html',
      row: '5xx',
      outcome: { kind: 'unknown', code: 'HTTP_502' },
    },
  ],
  [
    'HTTP/1.1 403 Forbidden\n\n{"code":"OTHER_TEAM"}',
    {
      row: '401 or 403, another code',
      outcome: {
        kind: 'hold',
        hold: 'credentials',
        code: 'OTHER_TEAM',
        scope: 'template',
        rejectAfter: 1,
      },
    },
  ],
  [
    '{"code":"TEMPLATE_NOT_APPROVED"}',
    {
      status: 200,
      rule: 1,
      outcome: { kind: 'rejected', code: 'TEMPLATE_NOT_APPROVED' },
    },
  ],
  [
    '{"data":{"status":"BUSY"}}',
    {
      rule: 2,
      outcome: { kind: 'retry', code: 'ANSWER_RULE_2', counted: true },
    },
  ],
  [
    'HTTP/1.1 400 Bad Request\n\n{"error":{"code":"QUOTA_EXCEEDED"}}',
    {
      rule: 3,
      outcome: { kind: 'hold', hold: 'credit', code: 'QUOTA_EXCEEDED' },
    },
  ],
  [
    'HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 403 Forbidden\r\n\r\n{"code":"OTHER_TEAM"}',
    {
      status: 403,
      outcome: {
        kind: 'hold',
        hold: 'credentials',
        code: 'OTHER_TEAM',
        scope: 'template',
        rejectAfter: 1,
      },
    },
  ],
  [
    'HTTP/1.1 100 Continue\n\nHTTP/1.1 404 Not Found\n\n{"code":\n\n"NO_TEMPLATE"}',
    { status: 404, outcome: { kind: 'rejected', code: 'NO_TEMPLATE' } },
  ],
  ['{"data":{"id":1}}', { row: '2xx, JSON or no body', outcome: { kind: 'accepted' } }],
])('%s', (written, expected) => {
  expect(explain(written, RULES)).toMatchObject(expected);
});

it('notices doctor --answer shows it without Redis, a service or a request', async () => {
  const rules = temporaryFile(JSON.stringify(EXAMPLE_RULES));
  const answer = temporaryFile('{"code":"UNKNOWN_SENDER","message":"no such sender"}');
  const env = { ANSWER_RULES_FILE: rules, REDIS_URL: 'redis://127.0.0.1:1' };
  const text = await run(['doctor', '--answer', answer], env);
  expect([text.code, text.stderr]).toEqual([0, '']);
  expect(text.stdout).toMatch(/^decided by +answer rule 1$/m);
  expect(text.stdout).toMatch(/^outcome +rejected \(UNKNOWN_SENDER\)$/m);
  const builtIn = await run(['doctor', '--answer', answer, '--json'], {});
  expect(JSON.parse(builtIn.stdout)).toMatchObject({
    status: 200,
    code: 'UNKNOWN_SENDER',
    message: 'no such sender',
    row: '2xx, JSON or no body',
    outcome: { kind: 'accepted' },
  });
  const shown = await run(['config', '--producer'], env);
  expect(shown.stdout).toMatch(/^answer rule 3: code QUOTA_EXCEEDED: hold credit$/m);
  expect((await run(['doctor', '--answer', '/nowhere'], {})).code).toBe(2);
});
