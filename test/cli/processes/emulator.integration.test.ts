import { EventEmitter } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { runCli } from '../../../src/cli/run-cli.ts';
import { until } from '../../support/wait.ts';
import { errorOf, run, STACK, start } from '../support/run.ts';

describe('notices emulator', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'says where it is, and %s ends it with 0',
    async (signal) => {
      const emulator = start(['emulator', '--port', '0', '--access-key', 'a', '--secret-key', 's']);
      const [, url = ''] = await emulator.says(/^emulator at (http:\/\/127\.0\.0\.1:\d+), /m);
      // service-api, POST {base_url}/api/v2/token.
      const authorization = `Basic ${Buffer.from('a:s').toString('base64')}`;
      const answer = await fetch(`${url}/api/v2/token`, {
        method: 'POST',
        headers: { authorization },
      });
      expect(answer.status).toBe(200);
      expect(await answer.json()).toMatchObject({ data: { token: expect.any(String) as string } });
      emulator.stop(signal);
      expect(await emulator.ended).toMatchObject({ code: 0, stderr: '' });
    },
  );

  it('ends with 0 where it is stopped as soon as its address can be read', async () => {
    const signals = new EventEmitter();
    let heard: boolean | undefined;
    const stdout = new Writable({
      write: (_chunk, _encoding, done) => {
        heard ??= signals.emit('SIGINT');
        done();
      },
    });
    const args = ['emulator', '--port', '0', '--json'];
    const surroundings = { env: {}, stdin: new PassThrough(), stdout, stderr: stdout, signals };
    const ended = runCli(args, surroundings);
    await until(() => heard !== undefined, { what: 'the address' });
    // A signal that nothing listens for would end a real process without its exit code.
    expect(heard).toBe(true);
    expect(await ended).toBe(0);
  });
});

describe('notices emulator with bad flags: exit code 2, named', () => {
  it.each([
    { args: ['--port', '70000'], names: '--port' },
    { args: ['--token-mode', 'some'], names: '--token-mode' },
    { args: ['--fault', '{"on":"send","status":99999}'], names: 'status' },
    { args: ['--fault', 'frobnicate'], names: '--fault: expected JSON' },
    { args: ['--access-key', ''], names: 'accessKey' },
    { args: ['--allow', 'not-an-address'], names: 'not-an-address' },
    { args: ['--host', 'nowhere.invalid'], names: 'nowhere.invalid' },
  ])('$args', async ({ args, names }) => {
    const ended = await run(['emulator', '--port', '0', ...args, '--json']);
    expect([ended.code, ended.stdout]).toEqual([2, '']);
    expect(errorOf(ended)).toMatchObject({ code: 'USAGE' });
    expect(errorOf(ended).message).toContain(names);
    expect(ended.stderr).not.toMatch(STACK);
  });
});
