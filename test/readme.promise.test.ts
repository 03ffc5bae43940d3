import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../scripts/redis/free-port.ts';
import { provideRedis } from '../scripts/redis/provide-redis.ts';
import { startEmulator } from '../src/emulator/emulator.ts';
import { blocksOf } from './docs/support/readme-blocks.ts';
import { Shell } from './support/shell.ts';
import { until } from './support/wait.ts';
import { temporaryFolder } from './support/temporary.ts';

const ROOT = process.cwd();
const DEADLINE_MS = 60_000;

describe('the two requests that README shows', () => {
  it('are answered as shown by the emulator', async () => {
    const emulator = await startEmulator();
    try {
      const known = new Map([
        ['{BASE_URL}', emulator.url],
        [
          '<base64 of ACCESS_KEY:SECRET_KEY>',
          Buffer.from('emulator-access-key:emulator-secret-key').toString('base64'),
        ],
        ['<SENDER_KEY>', 'sender-key'],
      ]);
      const blocks = blocksOf('http');
      expect(blocks).toHaveLength(2);
      for (const block of blocks) {
        const { request, shown } = readExchange(block, known);
        const answer = await fetch(request.url, request);
        const text = await answer.text();
        expect([request.url, answer.status]).toEqual([request.url, shown.status]);
        if (shown.body === undefined) continue;
        const pattern = new RegExp(
          `^${shown.body.replaceAll(/\s/g, '').replaceAll(/[{}.]/g, '\\$&').replace('<TOKEN>', '([^"]+)')}$`,
        );
        const [, token] = pattern.exec(text.replaceAll(/\s/g, '')) ?? [];
        expect(token).toBeDefined();
        known.set('<TOKEN>', token ?? '');
      }
      expect(emulator.record().contacts).toBe(1);
    } finally {
      await emulator.close();
    }
  });
});

interface Exchange {
  readonly request: RequestInit & { readonly url: string };
  readonly shown: { readonly status: number; readonly body: string | undefined };
}

/** A block of `METHOD url`, headers, an optional body, and the answer's status and optional body. */
function readExchange(block: string, known: ReadonlyMap<string, string>): Exchange {
  let text = block.trim();
  const paragraphs = text.split('\n\n');
  const [, status = '', body] = /^(\d{3})(?: ([\s\S]+))?$/.exec(paragraphs.at(-1) ?? '') ?? [];
  text = paragraphs.slice(0, -1).join('\n\n');
  for (const [name, value] of known) text = text.replaceAll(name, value);
  const [head = '', sent] = text.split('\n\n');
  const [first = '', ...lines] = head.split('\n');
  const [method = '', url = ''] = first.split(' ');
  const headers = lines.map((line) => line.split(': ') as [string, string]);
  return {
    request: { url, method, headers, ...(sent === undefined ? {} : { body: sent }) },
    shown: { status: Number(status), body },
  };
}

/*
 * One shell for all blocks, as a reader has one terminal. What differs from the reader's: the address
 * of Redis and the ports are free ones, and `npx` starts the built program without looking for it.
 */
describe('the commands and the program that README shows', () => {
  let folder = '';
  let shell: Shell;
  let addresses: (code: string) => string;
  let emulatorUrl = '';
  const closers: (() => unknown)[] = [];

  beforeAll(async () => {
    folder = temporaryFolder((remove) => closers.push(remove));
    // Not the run's Redis: the blocks use the default prefix, which others may use there.
    const redis = await provideRedis({ env: { ...process.env, REDIS_URL: undefined } });
    closers.push(() => redis.close());
    const [emulatorPort, opsPort] = [await freePort(), await freePort()];
    emulatorUrl = `http://127.0.0.1:${emulatorPort}`;
    const shown: Readonly<Record<string, string>> = {
      'redis://127.0.0.1:6379': redis.url,
      '4010': String(emulatorPort),
      '4011': String(opsPort),
    };
    // In one pass: a free port may contain the digits of another one.
    addresses = (code) =>
      code.replaceAll(/redis:\/\/127\.0\.0\.1:6379|4010|4011/g, (port) => shown[port] ?? port);
    const bin = path.join(folder, 'bin');
    mkdirSync(bin);
    const npx = path.join(bin, 'npx');
    writeFileSync(npx, `#!/bin/sh\nshift\nexec node ${ROOT}/dist/src/cli/main.js "$@"\n`);
    chmodSync(npx, 0o755);
    mkdirSync(path.join(folder, 'node_modules'));
    symlinkSync(ROOT, path.join(folder, 'node_modules/notice-queue'));
    shell = new Shell(folder, {
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      HOME: folder,
      OPS_ADDRESS: String(opsPort),
    });
    closers.push(() => shell.close());
  });

  afterAll(async () => {
    for (const close of closers.reverse()) await close();
  });

  it('run, in their order, and the emulator accepts every contact once', async () => {
    const [program = '', ...morePrograms] = blocksOf('program');
    expect(morePrograms).toEqual([]);
    writeFileSync(path.join(folder, 'example.mjs'), addresses(program));
    expect(await shell.run('node example.mjs')).toMatch(/^n-\S+ is queued$/m);
    expect(await shell.run('node example.mjs')).toMatch(/^n-\S+ was queued before$/m);

    const [start = '', list = '', ops = '', curl = '', ...others] = blocksOf('shell');
    expect(others).toEqual([]);
    expect(await shell.run(addresses(start))).toMatch(/queued n-\S+[\s\S]*workers/);
    const imported = await shell.run(addresses(list));
    expect(imported).toMatch(/Dry run: nothing was enqueued[\s\S]*accepted +2/);

    // What the reader is told to do with the output of `new-key`, before the server is started.
    const [newKey = '', ...serve] = addresses(ops).split('\n');
    const made = await shell.run(newKey);
    const [, key = ''] = /(nq_\S+)/.exec(made) ?? [];
    const [, entry = ''] = /(shop:sender:\S+)/.exec(made) ?? [];
    await shell.run(`export KEY='${key}' OPS_API_KEYS='${entry}'`);
    await shell.run(serve.join('\n'));
    const ready = addresses('curl --silent --fail http://127.0.0.1:4011/readyz > ready.txt');
    await shell.run(`for i in $(seq 300); do ${ready} && break; sleep 0.1; done`);
    const receipt = await shell.run(addresses(curl));
    expect(receipt).toMatch(/"id": ?"n-/);

    const accepted = async () => {
      // Refused until the emulator listens.
      const answer = await fetch(`${emulatorUrl}/control/record`).catch(() => undefined);
      return ((await answer?.json()) as { contacts: number } | undefined)?.contacts;
    };
    await until(async () => ((await accepted()) ?? 0) >= 5, {
      what: 'the notices of the program, of the command and of curl, and the list',
      deadlineMs: DEADLINE_MS,
    });
    expect(await accepted()).toBe(5);
  }, 180_000);
});
