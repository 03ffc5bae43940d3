import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { describeConfig } from '../../src/config/config.ts';
import { InputError } from '../../src/contracts/errors.ts';
import { base64 } from '../emulator/calls.ts';
import { emulatorWith } from '../emulator/running.ts';
import { until } from '../support/wait.ts';
import { acceptedNumbers, configOf, PAIR, room } from './support/line.ts';
import { FIRST, FULL_NOTICE, noticeTo, SECOND } from './support/notices.ts';
import { wireTo } from './support/wire.ts';

const { line, client, wired, direct } = room();

describe('About the document', () => {
  it('[placeholder-base-url] every path is added to BASE_URL, also to one that holds a path', async () => {
    const emulator = await emulatorWith();
    const wire = await wireTo(emulator, (path) => path.replace(/^\/gateway/, ''));
    const { deliver } = await line(`${wire.url}/gateway/`);
    expect(await deliver(noticeTo(FIRST))).toMatchObject({ outcome: 'accepted' });
    expect(wire.summary()).toEqual([
      'POST /gateway/api/v2/token 200',
      'POST /gateway/api/v2/notices/send 200',
    ]);
  });

  it('[placeholder-secrets] keys and token stand in no log, error, printed configuration or Redis value', async () => {
    const { wire, deliver, log, stored } = await wired();
    await deliver(noticeTo(FIRST));
    const token = (wire.authorizations('/send')[0] ?? '').replace('Bearer ', '');
    const refused = client(wire.url, { SECRET_KEY: 'wrong-secret-key' }).issueToken();
    const error = await refused.catch((reason: unknown) => inspect(reason, { depth: 10 }));
    const printed = describeConfig({ ACCESS_KEY: PAIR.accessKey, SECRET_KEY: PAIR.secretKey });

    expect(token.length).toBeGreaterThan(20);
    const shown = JSON.stringify([log, error, printed, await stored()]);
    expect(shown).toContain('INVALID_ACCESS_KEY');
    const basic = `${PAIR.accessKey}:${PAIR.secretKey}`;
    for (const secret of [PAIR.accessKey, PAIR.secretKey, basic, 'wrong-secret-key', token]) {
      expect(shown).not.toContain(secret);
      expect(shown).not.toContain(base64(secret));
    }
  });
});

describe('What the service does', () => {
  it('[does-channels] [does-send-request] [does-http-json] [does-token-first] [only-document] [send-purpose] [send-method-path] [send-request-body] [send-request-headers] [not-shown-other-endpoints] [field-chat-sender-key] [field-sender-key] a token is issued first; each notice is one JSON request with it, and nothing else is called', async () => {
    const { emulator, wire, deliver } = await wired();
    const contacts = [
      { contact: FIRST, var1: 'Kim' },
      { contact: SECOND, var1: 'Lee' },
    ];
    await deliver({ ...FULL_NOTICE, contacts });
    await deliver(noticeTo(FIRST));
    emulator.revokeTokens();
    await deliver(noticeTo(SECOND));
    expect(wire.summary()).toEqual([
      'POST /api/v2/token 200',
      'POST /api/v2/notices/send 200',
      'POST /api/v2/notices/send 200',
      'POST /api/v2/notices/send 401',
      'POST /api/v2/token 200',
      'POST /api/v2/notices/send 200',
    ]);
    const [first, second] = wire.authorizations('/send');
    expect(first).toMatch(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/);
    expect(second).toBe(first);
    const sent = wire.calls[1];
    expect(sent?.headers['content-type']).toBe('application/json');
    expect(JSON.parse(sent?.body ?? '')).toEqual({ ...FULL_NOTICE, contacts });
    expect(emulator.details()[0]?.fields).toMatchObject({
      chatSenderKey: 'chat-sender-key',
      senderKey: 'sms-sender-key',
    });
    expect(acceptedNumbers(emulator)).toEqual([FIRST, SECOND]);
  });

  it('[does-app-issues-pair] [field-secret-key] the pair of a new app serves at once; half a pair is refused at the start', async () => {
    const emulator = await emulatorWith();
    emulator.setApp({ accessKey: 'new-access-key', secretKey: 'new-secret-key' });
    const pair = { ACCESS_KEY: 'new-access-key', SECRET_KEY: 'new-secret-key' };
    const { deliver } = await line(emulator.url, pair);
    expect(await deliver(noticeTo(FIRST))).toMatchObject({ outcome: 'accepted' });

    for (const missing of ['ACCESS_KEY', 'SECRET_KEY']) {
      const half = () => configOf({ BASE_URL: emulator.url, [missing]: '' });
      expect(half).toThrow(InputError);
      expect(half).toThrow(missing);
    }
  });

  it('[does-pair-full-permission] the application hands notices over without the pair, and the queue holds nothing of it', async () => {
    const emulator = await emulatorWith();
    // The queue of a line is given the address of Redis and no key.
    const { deliver, stored } = await line(emulator.url);
    expect(await deliver(noticeTo(FIRST))).toMatchObject({ outcome: 'accepted' });
    const kept = await stored();
    expect(kept).toContain('ORDER_SHIPPED');
    expect(kept).not.toContain(PAIR.accessKey);
    expect(kept).not.toContain(PAIR.secretKey);
  });

  it('[does-reissued-pair] a revoked pair holds the queue; a worker with the reissued pair sends what waits', async () => {
    const { emulator, deliver, deliverUntil, restart } = await direct();
    await deliver(noticeTo(FIRST));
    emulator.setApp({ accessKey: PAIR.accessKey, secretKey: 'revoked-and-unknown' });
    emulator.setApp({ accessKey: 'reissued-access-key', secretKey: 'reissued-secret-key' });
    const held = await deliverUntil('hold', noticeTo(SECOND));
    expect(held).toMatchObject({ hold: 'credentials', code: 'INVALID_ACCESS_KEY', attempt: 1 });

    await restart({ ACCESS_KEY: 'reissued-access-key', SECRET_KEY: 'reissued-secret-key' });
    await until(() => acceptedNumbers(emulator).includes(SECOND), { what: 'the waiting notice' });
    expect(emulator.record().twice).toBe(0);
  });

  it('[not-shown-channels] fields of operations that are not shown reach the service untouched', async () => {
    const { emulator, deliver } = await direct();
    const known = { replaceSms: 'Y', smsContent: 'a text' } as const;
    const fields = { options: { nested: [1, true, null] } };
    await deliver({ ...noticeTo(FIRST), ...known, fields });
    expect(emulator.details()[0]?.fields).toMatchObject({ ...known, ...fields });
  });
});
