import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { EXAMPLE_RULES } from '../../scripts/answers-page.ts';
import type { SendOptions } from '../../src/contracts/send-options.ts';
import { readPossiblySentTwice } from '../../src/fleet/possibly-sent-twice.ts';
import { run } from '../cli/support/run.ts';
import { testRedis } from '../support/redis.ts';
import { startWorkerInProcess } from '../workers/support/worker-in-process.ts';
import { FIND_KEY, NUMBER, openErase, OTHER, PAYLOAD_KEY, to } from './support/open-erase.ts';

// Workers are started and stopped.
vi.setConfig({ testTimeout: 60_000 });

const redis = testRedis();
const THIRD = '01011113333';

/** A result of the service for a contact: number, status, code. */
type Result = readonly [contact: string, status: string, code?: string];

const shortened = { code: 0, report: { notices: { shortened: 1, removed: 0 }, left: [] } };

describe('a notice whose contacts have results of their own', () => {
  async function open(payloadKey?: string) {
    const opened = openErase(redis, redis.freshPrefix(), payloadKey);
    const folder = mkdtempSync(path.join(tmpdir(), 'notices-rules-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = path.join(folder, 'rules.json');
    writeFileSync(file, JSON.stringify(EXAMPLE_RULES));
    const env = { ...opened.secrets, ANSWER_RULES_FILE: file, FIND_KEY, BACKOFF_BASE_MS: '50' };
    const worker = await startWorkerInProcess(redis.url, opened.prefix, env);
    onTestFinished(() => worker.stop());
    const { queue, reaches } = opened;
    /** Sends a notice whose first request gets these results. */
    const ends = async (
      numbers: readonly string[],
      results: readonly Result[],
      state: string,
      options: SendOptions = {},
    ) => {
      const all = results.map(([contact, status, code]) => ({ contact, status, code }));
      const body = { data: { results: all } };
      worker.emulator.addFault({ on: 'send', status: 200, body, times: 1 });
      const { id } = await queue.send(to(...numbers), { idempotencyKey: 'k', ...options });
      await reaches(id, state);
      return id;
    };
    const listed = async () => {
      const { stdout } = await run(['unknown', '--json'], opened.env);
      return (JSON.parse(stdout) as { notices: unknown[] }).notices;
    };
    const find = async (number: string) => {
      const { stdout } = await run(['find', number, '--json'], opened.env);
      return (JSON.parse(stdout) as { notices: { states: string[] }[] }).notices[0]?.states;
    };
    const taken = () => worker.emulator.details().map(({ contact }) => contact);
    /** Nothing but the masks in the audit. */
    const isErased = async () => {
      const left = (await opened.traces()).filter(([form]) => form !== 'masked');
      expect(left).toEqual([]);
    };
    return { ...opened, ends, listed, find, taken, isErased };
  }
  const ONCE = { delivery: 'at-most-once' } as const;

  it.each([
    ['without PAYLOAD_KEY', undefined],
    ['with PAYLOAD_KEY', PAYLOAD_KEY],
  ])('is found by one that is settled beside the others, who stay: %s', async (_, payloadKey) => {
    const { ends, erase, queue, find, isErased } = await open(payloadKey);
    // The other one is not in the results.
    const id = await ends([NUMBER, OTHER], [[NUMBER, 'FAIL', 'BLOCKED']], 'unknown', ONCE);
    expect(await find(NUMBER)).toEqual(['rejected']);
    expect(await erase()).toMatchObject(shortened);
    await isErased();
    expect(await queue.get({ idempotencyKey: 'k' })).toMatchObject({
      id,
      state: 'unknown',
      contacts: 1,
    });
    expect(await find(OTHER)).toEqual(['unknown']);
  });

  it('stays as rejected for those settled beside an unknown one that is erased', async () => {
    const { env, ends, erase, queue, listed, find, taken, reaches, isErased } = await open();
    const results = [[OTHER, 'FAIL', 'BLOCKED'] as const, [THIRD, 'OK'] as const];
    const id = await ends([NUMBER, OTHER, THIRD], results, 'unknown', ONCE);
    expect(await listed()).toHaveLength(1);
    expect(await erase()).toMatchObject(shortened);
    await isErased();
    expect(await listed()).toEqual([]);
    expect(await queue.get({ idempotencyKey: 'k' })).toMatchObject({
      id,
      state: 'rejected',
      code: 'BLOCKED',
      contacts: 2,
      possiblySent: 0,
    });
    expect([await find(OTHER), await find(THIRD)]).toEqual([['rejected'], ['accepted']]);
    await run(['redrive', id, '--yes'], env);
    await reaches(id, 'accepted');
    expect(taken()).toEqual([OTHER]);
  });

  it('stays as accepted for those that were, where the only rejected one is erased', async () => {
    const { env, ends, erase, queue, find, taken, isErased } = await open();
    const results = [[NUMBER, 'FAIL', 'BLOCKED'] as const, [OTHER, 'OK'] as const];
    const id = await ends([NUMBER, OTHER], results, 'rejected');
    const shown = await run(['erase', NUMBER], env);
    expect(shown.stderr).toContain('1 ended; 1 for several people');
    expect(await erase()).toMatchObject(shortened);
    await isErased();
    expect(await queue.get({ idempotencyKey: 'k' })).toMatchObject({
      id,
      state: 'accepted',
      contacts: 1,
    });
    expect(await find(OTHER)).toEqual(['accepted']);
    const failures = await run(['failures', '--json'], env);
    expect(JSON.parse(failures.stdout)).toMatchObject({ groups: [] });
    // The key is in use: a repeated call sends nothing.
    expect(
      await queue.send(to(OTHER, NUMBER), { idempotencyKey: 'k' }).catch(() => 'refused'),
    ).toBe('refused');
    expect(taken()).toEqual([]);
    expect(await erase(OTHER)).toMatchObject({ report: { notices: { removed: 1 } } });
    expect((await queue.get({ idempotencyKey: 'k' })).state).toBe('not-kept');
  });

  it('is listed and decided for the contacts that are left', async () => {
    const { env, ends, erase, listed, keys } = await open();
    // Neither is in the results.
    const id = await ends([NUMBER, OTHER, THIRD], [[THIRD, 'OK']], 'unknown', ONCE);
    expect(await listed()).toMatchObject([{ id, contacts: 2 }]);
    expect(await erase()).toMatchObject(shortened);
    expect(await listed()).toMatchObject([{ id, contacts: 1 }]);
    const resolved = await run(['resolve', id, '--as', 'resend', '--yes', '--json'], env);
    expect(JSON.parse(resolved.stdout)).toMatchObject({ contacts: 1 });
    expect(await readPossiblySentTwice(redis.client, keys)).toMatchObject({ notices: 1 });
  });

  it('keeps its idempotency key when it is deleted: the accepted ones would get it again', async () => {
    const { env, ends, queue, listed, taken } = await open();
    const results = [[NUMBER, 'FAIL', 'BLOCKED'] as const, [OTHER, 'OK'] as const];
    const id = await ends([NUMBER, OTHER], results, 'rejected');
    const deleted = ['delete', '--notices', '--release-key', '--yes'];
    expect(await run(deleted, env)).toMatchObject({ code: 0 });
    expect((await queue.get(id)).state).toBe('not-kept');
    const again = await queue.send(to(NUMBER, OTHER), { idempotencyKey: 'k' });
    expect(again.id).toBe(id);
    expect((await queue.get(id)).state).toBe('not-kept');
    expect([await listed(), taken()]).toEqual([[], []]);
  });
});
