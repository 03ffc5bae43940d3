import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { EXAMPLE_RULES } from '../../scripts/answers-page.ts';
import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import type { FindReport } from '../../src/search/find-answer.ts';
import { run } from '../cli/support/run.ts';
import { numbers, startFleet, type Fleet } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { until } from '../support/wait.ts';

const LONG = { deadlineMs: 30_000 };
const FIND_KEY = 'f'.repeat(64);

/** A service that answers 200 and reports errors in its body, as it looks from outside. */
describe('answers with ANSWER_RULES_FILE', () => {
  const redis = testRedis();
  let fleet: Fleet | undefined;
  const folders: string[] = [];

  afterEach(async () => {
    await fleet?.close();
    fleet = undefined;
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  });

  async function start(rules: object = EXAMPLE_RULES) {
    const prefix = redis.freshPrefix();
    const folder = mkdtempSync(path.join(tmpdir(), 'notices-rules-'));
    folders.push(folder);
    const file = path.join(folder, 'rules.json');
    writeFileSync(file, JSON.stringify(rules));
    const on = await startFleet({
      redisUrl: redis.url,
      prefix,
      processes: 0,
      env: {
        ANSWER_RULES_FILE: file,
        BACKOFF_BASE_MS: '50',
        BACKOFF_CAP_MS: '100',
        HEARTBEAT_MS: '200',
        FIND_KEY,
      },
    });
    fleet = on;
    const answer = (body: object, status = 200) =>
      on.emulator.addFault({ on: 'send', status, body, times: 1 });
    const send = async (contact: string) => {
      const queue = new NoticeQueue({
        redis: connectionAs('application', redis.url),
        prefix,
        findKey: FIND_KEY,
      });
      const { id } = await queue.send({ templateCode: 'T', contacts: [{ contact }] });
      await queue.close();
      return id;
    };
    const line = (job: string, outcome: string) =>
      until(
        () => on.attempts().find((each) => each['job'] === job && each['outcome'] === outcome),
        { what: `${outcome} of ${job}`, ...LONG },
      );
    const find = async (contact: string) => {
      const { stdout } = await run(['find', contact, '--json'], { ...on.env });
      return (JSON.parse(stdout) as FindReport).notices[0]?.states;
    };
    return { on, answer, send, line, find };
  }

  const [a = '', b = '', c = ''] = numbers(3);

  it('are rejected, sent again or held, where the built-in table would accept them', async () => {
    const { on, answer, send, line, find } = await start();
    answer({ code: 'TEMPLATE_NOT_APPROVED', message: 'not yet' });
    const first = await send(a);
    await on.addWorker();
    expect(await line(first, 'rejected')).toMatchObject({
      code: 'TEMPLATE_NOT_APPROVED',
      status: 200,
      rule: 1,
    });
    expect(await find(a)).toEqual(['rejected']);
    answer({ data: { status: 'BUSY' } });
    const second = await send(b);
    expect(await line(second, 'retry')).toMatchObject({ code: 'ANSWER_RULE_2', rule: 2 });
    expect(await line(second, 'accepted')).toMatchObject({ attempt: 2 });
    answer({ error: { code: 'QUOTA_EXCEEDED' } }, 400);
    const third = await send(c);
    expect(await line(third, 'hold')).toMatchObject({ hold: 'credit', code: 'QUOTA_EXCEEDED' });
    expect(await line(third, 'accepted')).not.toHaveProperty('rule');
    expect(on.emulator.record()).toMatchObject({ contacts: 2, twice: 0 });
  }, 60_000);

  it('a worker with an invalid file does not start, and says where the problem is', async () => {
    const { on } = await start({ rules: [{ code: 'A', outcome: 'okay' }] });
    const { code, stderr } = await run(['worker'], { ...on.env });
    expect(code).toBe(2);
    expect(stderr).toMatch(/ANSWER_RULES_FILE.*rules\.0\.outcome: expected one of accepted/);
  });
});
