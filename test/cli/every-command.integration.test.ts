import { describe, expect, it } from 'vitest';
import { commandWorld } from './support/command-world.ts';
import { runProcess, startProcess } from './support/process.ts';
import { run } from './support/run.ts';

/*
 * Each command once as the built program, in a process of its own. What it does in every case is tested
 * by calls, without a process.
 */

const { list, env } = commandWorld();

/** What each command is asked, the exit code, and what standard output has to hold. */
const ENDING: Readonly<Record<string, readonly [readonly string[], number, RegExp]>> = {
  send: [['--template', 'T', '--contact', '01000000001'], 0, /^Enqueued /],
  show: [['n-none'], 1, /^state +not-kept$/m],
  import: [[list, '--template', 'T', '--batch', 'b'], 0, /^Batch b\.$/m],
  batches: [[], 0, /^sending /m],
  batch: [['sending'], 0, /^phase +sending,/m],
  pause: [['sending'], 0, /is paused/],
  resume: [['sending'], 0, /is resumed/],
  rate: [['sending', '100'], 0, /100/],
  failures: [['sending'], 0, /^No contact failed\.$/m],
  redrive: [['sending', '--yes'], 0, /^No contact matches/],
  delete: [['--notices', '--yes'], 0, /^No failed notice matches/],
  events: [[], 0, /^No event is kept\.$|batch\.finished/m],
  waiting: [[], 0, /^waiting +T +1 +1 /m],
  unknown: [[], 0, /^No outcome is unknown\.$/m],
  resolve: [['--all', '--as', 'accepted', '--yes'], 0, /^Nothing was done\.$/m],
  restored: [[], 0, /^No old copy/],
  results: [['sending'], 0, /^rows /m],
  audit: [[], 0, /resume/],
  find: [['01000000001'], 0, /./],
  config: [[], 0, /^REDIS_PREFIX /m],
  hold: [['place', '--why', 'a test'], 0, /is on hold/],
  'rate-limit': [[], 0, /^no limit$/m],
  status: [[], 0, /^hold +manual/m],
  doctor: [[], 1, /queue\.hold/],
  cancel: [['sending', '--yes'], 0, /is cancelled/],
  erase: [['01000000001', '--yes'], 0, /^010\*{6}01: 1 notice cancelled and removed/m],
};

/** What is stopped by a signal: the arguments, and what is waited for. */
const LASTING: Readonly<Record<string, readonly [readonly string[], RegExp]>> = {
  worker: [[], /"event":"started"/],
  ops: [['--port', '0'], /^ops at http/m],
  emulator: [['--port', '0'], /^emulator at http/m],
};

describe('every command, as a process', () => {
  it('is listed here', async () => {
    const help =
      (await run(['help'])).stdout.split('Single notices:')[1]?.split('Exit codes:')[0] ?? '';
    const commands = [...help.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, name = '']) => name);
    const listed = [...Object.keys(ENDING), ...Object.keys(LASTING), 'help'];
    expect(listed.toSorted()).toEqual(commands.toSorted());
  });

  it.each(Object.entries(ENDING))('notices %s', async (command, [args, code, shown]) => {
    const ended = await runProcess([command, ...args], env());
    expect(ended).toEqual({
      code,
      stdout: expect.stringMatching(shown) as string,
      stderr: ended.stderr,
    });
    expect(ended.stderr).not.toMatch(/^\s+at /m);
  });

  it.each(Object.entries(LASTING))('notices %s, until SIGTERM', async (command, [args, begun]) => {
    const lasting = startProcess([command, ...args], env());
    await lasting.says(begun);
    lasting.stop('SIGTERM');
    expect((await lasting.ended).code).toBe(0);
  });
});
