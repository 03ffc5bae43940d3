import { describe, expect, it } from 'vitest';
import { describeConfig } from '../../src/config/config.ts';
import type { HoldKind } from '../../src/contracts/hold.ts';
import type { Emulator } from '../../src/emulator/emulator.ts';
import { temporaryFile } from '../support/temporary.ts';
import { sendWith, verdict } from '../emulator/calls.ts';
import { emulatorWith } from '../emulator/running.ts';
import { until } from '../support/wait.ts';
import { acceptedNumbers, PAIR, room, type Line } from './support/line.ts';
import { FIRST, noticeTo, SECOND, THIRD } from './support/notices.ts';
import { wireTo } from './support/wire.ts';

const { line, client, wired } = room();
const { accessKey } = PAIR;

async function expectHeld({ deliverUntil, hold }: Line, number: string, code: string) {
  const held = await deliverUntil('hold', noticeTo(number));
  // Attempt 1: a hold spends none.
  expect(held).toMatchObject({ hold: 'credentials' satisfies HoldKind, code, attempt: 1 });
  expect(await hold()).toMatchObject({ kind: 'credentials', code });
}

async function expectSent(emulator: Emulator, number: string) {
  await until(() => acceptedNumbers(emulator).includes(number), { what: `${number} accepted` });
}

describe('App credentials', () => {
  it('[field-access-key] both keys can come from files, and are shown by their length alone', async () => {
    const emulator = await emulatorWith();
    const files = {
      ACCESS_KEY: '',
      SECRET_KEY: '',
      ACCESS_KEY_FILE: temporaryFile(`${PAIR.accessKey}\n`),
      SECRET_KEY_FILE: temporaryFile(`${PAIR.secretKey}\n`),
    };
    const { deliver } = await line(emulator.url, files);
    expect(await deliver(noticeTo(FIRST))).toMatchObject({ outcome: 'accepted' });
    const rows = describeConfig({ ACCESS_KEY: 'abcdefgh' }).rows;
    expect(rows.find(({ name }) => name === 'ACCESS_KEY')?.value).toBe('set (8 characters)');
  });

  it('[app-pending] [auth-rule-7] [states-app-pending] [not-shown-app-moves] [not-shown-states] an app may be approved and taken back at any time: the queue holds and resumes', async () => {
    const emulator = await emulatorWith({ approved: false });
    const way = await line(emulator.url);
    await expectHeld(way, FIRST, 'ACCESS_KEY_NOT_APPROVED');
    emulator.setApp({ accessKey, approved: true });
    await expectSent(emulator, FIRST);
    emulator.setApp({ accessKey, approved: false });
    await expectHeld(way, SECOND, 'ACCESS_KEY_NOT_APPROVED');
    emulator.setApp({ accessKey, approved: true });
    await expectSent(emulator, SECOND);
    expect(way.attempts().every(({ attempt }) => attempt === 1)).toBe(true);
    expect(emulator.record().twice).toBe(0);
  });

  it('[app-allowlist] [not-shown-allowlist-format] an address outside the allowlist holds the queue, also on a token that served before', async () => {
    const emulator = await emulatorWith();
    const way = await line(emulator.url);
    await way.deliver(noticeTo(FIRST));
    emulator.setApp({ accessKey, allowlist: ['203.0.113.7'] });
    await expectHeld(way, SECOND, 'IP_NOT_ALLOWED');
    emulator.setApp({ accessKey, allowlist: ['203.0.113.7', '127.0.0.1'] });
    await expectSent(emulator, SECOND);
    expect(emulator.record().twice).toBe(0);
  });
});

describe('Token', () => {
  it('[field-token] the token is opaque: any printable text goes back as it came', async () => {
    const emulator = await emulatorWith();
    const wire = await wireTo(emulator);
    const opaque = 'no~web|token/at+all==';
    emulator.addFault({ on: 'token', status: 200, body: { data: { token: opaque } } });
    emulator.addFault({ on: 'send', status: 200, body: {} });
    const { deliver } = await line(wire.url);
    expect(await deliver(noticeTo(FIRST))).toMatchObject({ outcome: 'accepted' });
    expect(wire.authorizations('/send')).toEqual([`Bearer ${opaque}`]);
  });

  it('[token-structure] a token with the structure of a signed JSON web token is issued and used', async () => {
    const emulator = await emulatorWith();
    const { value } = await client(emulator.url).issueToken();
    const [header, payload, signature] = value.split('.');
    expect(JSON.parse(Buffer.from(header ?? '', 'base64url').toString())).toHaveProperty('alg');
    expect(JSON.parse(Buffer.from(payload ?? '', 'base64url').toString())).toBeTypeOf('object');
    expect(signature).toMatch(/^[\w-]+$/);
    expect((await sendWith(emulator, value)).status).toBe(200);
  });

  it('[token-expires] [error-invalid-access-key-expired] an expired token is answered 401, and is replaced within the same attempt', async () => {
    const { emulator, wire, deliver } = await wired({}, { tokenLifetimeMs: 1_000 });
    await deliver(noticeTo(FIRST));
    const token = (wire.authorizations('/send')[0] ?? '').replace('Bearer ', '');
    emulator.setApp({ accessKey, tokenLifetimeMs: 3_600_000 });
    const expired = async () => verdict(await sendWith(emulator, token, noticeTo(THIRD)));
    await until(async () => (await expired()) === '401 INVALID_ACCESS_KEY', { what: 'the expiry' });

    const sent = await deliver(noticeTo(SECOND));
    expect(sent).toMatchObject({ outcome: 'accepted', requests: 2, attempt: 1 });
    expect(wire.summary().slice(-3)).toEqual([
      'POST /api/v2/notices/send 401',
      'POST /api/v2/token 200',
      'POST /api/v2/notices/send 200',
    ]);
  });

  it('[not-shown-token-lifetime] where no life is shown a token serves until it is refused; where one is shown it is renewed before', async () => {
    const silent = await emulatorWith();
    const inAnswer = await emulatorWith({ showExpiry: 'answer', tokenLifetimeMs: 4_000 });
    const inToken = await emulatorWith({ showExpiry: 'jwt', tokenLifetimeMs: 2_000 });
    const all = [silent, inAnswer, inToken];
    // As early as can be: at half of the life of the token.
    const env = { TOKEN_RENEW_BEFORE_MS: '3600000' };
    const lines = await Promise.all(all.map(({ url }) => line(url, env)));
    const areRenewed = async () => {
      await Promise.all(lines.map(({ deliver }) => deliver(noticeTo(FIRST))));
      return [inAnswer, inToken].every((emulator) => emulator.record().tokens.issued >= 2);
    };
    await until(areRenewed, { what: 'early renewals' });
    const sent = await Promise.all(lines.map(({ deliver }) => deliver(noticeTo(SECOND))));
    // One request: nobody met a refusal.
    expect(sent.map(({ requests }) => requests)).toEqual([1, 1, 1]);
    expect(silent.record().tokens.issued).toBe(1);
  });
});
