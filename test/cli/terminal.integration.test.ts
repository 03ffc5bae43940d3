import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { allFailed } from '../../src/batch/ledger/settlement.ts';
import { placeManualHold } from '../../src/fleet/hold/holds.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { buildBatch, contacts } from '../batch/support/built-batch.ts';
import { testRedis } from '../support/redis.ts';
import { run } from './support/run.ts';

const redis = testRedis();
/** Clears the screen, sets the title, starts a sequence with one C1 character, reverses the text. */
const ATTACK = '\u001b[2J\u001b]0;owned\u0007\u009b31m\u202eevil\r';
const UNSAFE = /(?![\t\n])[\p{Cc}\u2028-\u202e\u2066-\u2069]/u;
const CLI = fileURLToPath(new URL('../../src/cli', import.meta.url));

describe('what a terminal would obey is shown as text', () => {
  it('of lists, codes, templates and reasons', async () => {
    const { prefix, env } = redis.account();
    const plan = { templateCode: `T${ATTACK}` };
    const built = await buildBatch(redis.client, prefix, 'b', [contacts(1)], { plan });
    await built.settle(0, allFailed('rejected', `C${ATTACK}`, `first\nsecond ${ATTACK}`));
    await placeManualHold(redis.client, keysOf(prefix, 'default'), `because ${ATTACK}`);
    for (const args of [
      ['batches'],
      ['batch', 'b'],
      ['failures', 'b'],
      ['status'],
      ['hold'],
      ['doctor'],
      ['decide', '--batch', 'b', '--as', 'resend'],
      ['batch', ATTACK],
      [ATTACK],
      ['status', `--${ATTACK}`],
      ['import', `/no/such/${ATTACK}`, '--template', 'T'],
      ['send', '--template', 'T', '--contact', ATTACK],
    ]) {
      for (const json of [[], ['--json']]) {
        const ended = await run([...args, ...json], env);
        expect([args, ended.stdout + ended.stderr]).toEqual([
          args,
          expect.not.stringMatching(UNSAFE),
        ]);
      }
    }
    const { stdout } = await run(['failures', 'b'], env);
    expect(stdout).toContain('C\\u001b[2J\\u001b]0;owned\\u0007\\u009b31m\\u202eevil');
    expect(stdout).toContain('first\\u000asecond');
    const json = await run(['failures', 'b', '--json'], env);
    expect(JSON.parse(json.stdout)).toMatchObject({ groups: [{ code: `C${ATTACK}` }] });
  });
});

it('only the functions that make text safe write to the terminal', () => {
  const writers = readdirSync(CLI, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .filter((file) =>
      /(?:stdout|stderr|output)\??\.write\(/.test(readFileSync(path.join(CLI, file), 'utf8')),
    );
  expect(writers.sort()).toEqual(['main.ts', 'output.ts']);
});
