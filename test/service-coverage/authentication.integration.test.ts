import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { HOLDS, type HoldKind } from '../../src/contracts/hold.ts';
import { ERROR_CODES } from '../../src/contracts/errors.ts';
import { base64 } from '../emulator/calls.ts';
import { emulatorWith } from '../emulator/running.ts';
import { until } from '../support/wait.ts';
import { acceptedNumbers, room } from './support/line.ts';
import { FIRST, noticeTo, SECOND } from './support/notices.ts';
import { proxyServer } from '../service/support/proxy.ts';
import { wireTo } from './support/wire.ts';

const { line, client, wired, direct } = room();
const V1 = { API_VERSION: 'v1' };

describe('Authentication steps', () => {
  it('[auth-bearer-v1] [auth-bearer-v2] [auth-rule-2] [version-bearer] [version-in-path] [version-v2-default] v1 sends the base64 of the token, v2 the token as issued', async () => {
    const emulator = await emulatorWith({ tokenMode: 'many' });
    const issued = 'issued.token.value';
    emulator.addFault({ on: 'token', status: 200, body: { data: { token: issued } } });
    emulator.addFault({ on: 'send', status: 200, body: {} });
    const wire = await wireTo(emulator);
    const [v1, v2] = [await line(wire.url, V1), await line(wire.url)];
    await v1.deliver(noticeTo(FIRST));
    await v2.deliver(noticeTo(SECOND));
    expect(wire.authorizations('/api/v1/')).toEqual([`Bearer ${base64(issued)}`]);
    expect(wire.authorizations('/api/v2/notices')).toEqual([`Bearer ${issued}`]);
  });
});

describe('Authentication rules', () => {
  it('[auth-rule-1] on v1 a token that is not encoded a second time is answered 401, and the hold names API_VERSION', async () => {
    const emulator = await emulatorWith();
    // A worker for v2 whose path leads to v1 sends the token as issued.
    const wrong = await line(emulator.url, { SEND_PATH: '/api/v1/notices/send' });
    const held = await wrong.deliverUntil('hold', noticeTo(FIRST));
    expect(HOLDS[held['hold'] as HoldKind].remedy).toContain('API_VERSION');
    await wrong.restart(V1);
    await until(() => acceptedNumbers(emulator).includes(FIRST), { what: 'the waiting notice' });
  });

  it('[auth-rule-3] [auth-rule-3-not-per-request] one token serves every send of every worker until it is refused', async () => {
    const { emulator, queue, addWorker } = await direct();
    await addWorker();
    const numbers = Array.from({ length: 40 }, (_, index) => `010000001${index + 10}`);
    await queue.sendMany(numbers.map((number) => noticeTo(number)));
    await until(() => emulator.record().distinct === 40, { what: 'all sends' });
    expect(emulator.record().tokens).toEqual({ issued: 1, refused: 0, foreign: 0 });
  });

  it('[auth-rule-4] a 401 or a 403 renews the token and retries once, within one attempt', async () => {
    const { emulator, wire, deliver } = await wired();
    await deliver(noticeTo(FIRST));
    for (const status of [401, 403]) {
      emulator.addFault({ on: 'send', times: 1, status });
      const sent = await deliver(noticeTo(SECOND));
      expect(sent).toMatchObject({ outcome: 'accepted', attempt: 1, requests: 2 });
      expect(wire.summary().slice(-3)).toEqual([
        `POST /api/v2/notices/send ${status}`,
        'POST /api/v2/token 200',
        'POST /api/v2/notices/send 200',
      ]);
    }
  });

  it('[auth-rule-4] a second refusal is not retried within the attempt; refused for twenty notices it holds their template', async () => {
    const emulator = await emulatorWith();
    const apart = { BACKOFF_BASE_MS: '300', BACKOFF_CAP_MS: '1000' };
    const { deliver, templateHolds, queue, restart } = await line(emulator.url, apart);
    await deliver(noticeTo(FIRST));
    emulator.addFault({ on: 'send', times: 2, status: 403, code: 'SENDER_KEY_NOT_YOURS' });
    const refused = await deliver(noticeTo(SECOND));
    expect(refused).toMatchObject({
      outcome: 'hold',
      hold: 'credentials',
      code: 'SENDER_KEY_NOT_YOURS',
      requests: 2,
    });
    // Without a grace time, a notice whose first request has the renewed token reports a second token
    // that never worked: `token-contested`. Within it, that token is tried once more.
    await restart({ ...apart, TOKEN_GRACE_MS: '60000' });
    emulator.addFault({ on: 'send', status: 401 });
    const more = Array.from({ length: 25 }, (_, n) => noticeTo(`01000000${100 + n}`));
    await queue.sendMany(more);
    await until(async () => (await templateHolds())[0]?.kind === 'credentials', {
      what: 'the hold',
    });
  });

  it('[auth-rule-5] a client is built once: one connection and one token for all sends, also for the next worker', async () => {
    const { emulator, wire, deliver, restart } = await wired({ CONCURRENCY: '1' });
    for (let sent = 0; sent < 10; sent += 1) await deliver(noticeTo(FIRST));
    expect(wire.connections()).toBe(1);
    await restart();
    await deliver(noticeTo(SECOND));
    expect(emulator.record()).toMatchObject({ requests: 11, tokens: { issued: 1 } });
  });

  it('[auth-rule-6] [app-allowlist-empty] a caller outside the allowlist is refused with IP_NOT_ALLOWED, one inside and any with an empty list is not', async () => {
    const answers = [];
    for (const allowlist of [['203.0.113.7'], ['127.0.0.1'], []]) {
      const emulator = await emulatorWith({ allowlist });
      const issued = client(emulator.url).issueToken();
      answers.push(
        await issued.then(() => 'issued').catch((error: { code?: string }) => error.code),
      );
    }
    expect(answers).toEqual(['IP_NOT_ALLOWED', 'issued', 'issued']);
  });

  it('[auth-rule-6-outbound-address] the outbound address counts: that of the gateway, which PROXY_URL can name', async () => {
    const emulator = await emulatorWith({ allowlist: ['127.0.0.2'] });
    const direct = client(emulator.url).issueToken();
    await expect(direct).rejects.toThrow(ERROR_CODES.IP_NOT_ALLOWED.remedy);
    expect(ERROR_CODES.IP_NOT_ALLOWED.remedy).toMatch(/outbound address.*NAT/);
    const nat = await proxyServer(undefined, 1, '127.0.0.2');
    const through = await line(emulator.url, { PROXY_URL: nat.url });
    expect(await through.deliver(noticeTo(FIRST))).toMatchObject({ outcome: 'accepted' });
  });

  it('[auth-rule-8] a .env file is ignored, none is tracked or packed, and the example holds no key', () => {
    const isEnv = (file: string) =>
      /(^|\/)\.env(\.|$)/.test(file) && !file.endsWith('.env.example');

    expect(readFileSync('.gitignore', 'utf8').split('\n')).toContain('.env');
    const list = ['-c', 'safe.directory=*', 'ls-files'];
    const tracked = execFileSync('git', list, { encoding: 'utf8' }).split('\n');
    expect(tracked).toContain('package.json');
    expect(tracked.filter(isEnv)).toEqual([]);

    // npm packs these, package.json, README and LICENSE.
    const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { files: string[] };
    const packed = files
      .filter((file) => !file.startsWith('!') && statSync(file).isDirectory())
      .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }));
    expect(packed).toContain('redis.md');
    expect([...files, ...packed].filter(isEnv)).toEqual([]);

    const example = readFileSync('.env.example', 'utf8');
    for (const name of ['ACCESS_KEY', 'SECRET_KEY']) {
      expect(example).toContain(`\n#${name}=\n`);
    }
  });
});
