import { describe, expect, it } from 'vitest';
import type { Fault } from '../../src/emulator/faults/fault.ts';
import { ERROR_CODES, NoticeQueueError } from '../../src/contracts/errors.ts';
import { basic, call, sendWith, tokenOf, verdict } from '../emulator/calls.ts';
import { emulatorWith } from '../emulator/running.ts';
import { until } from '../support/wait.ts';
import { acceptedNumbers, PAIR, room } from './support/line.ts';
import { FIRST, noticeTo, SECOND, THIRD } from './support/notices.ts';

const { line, client, direct } = room();

describe('Authentication errors', () => {
  it('[error-invalid-access-key-unknown] [error-access-key-not-approved] [error-ip-not-allowed] [token-failures] each documented failure is an error of its own with cause and remedy, is not tried again, and the queue holds', async () => {
    const failures = [
      [{}, { ACCESS_KEY: 'nobody' }, 401, 'INVALID_ACCESS_KEY'],
      [{ secretKey: 'another' }, {}, 401, 'INVALID_ACCESS_KEY'],
      [{ approved: false }, {}, 403, 'ACCESS_KEY_NOT_APPROVED'],
      [{ allowlist: ['203.0.113.7'] }, {}, 403, 'IP_NOT_ALLOWED'],
    ] as const;
    for (const [options, env, status, code] of failures) {
      const { emulator, deliver } = await direct(env, options);
      const refused = client(emulator.url, env).issueToken();
      const traceId = expect.any(String) as string;
      await expect(refused).rejects.toMatchObject({ code, status, serviceCode: code, traceId });
      await expect(refused).rejects.toThrow(ERROR_CODES[code].meaning);
      await expect(refused).rejects.toThrow(ERROR_CODES[code].remedy);
      expect(emulator.record().tokens).toMatchObject({ issued: 0, refused: 1 });
      const held = { outcome: 'hold', hold: 'credentials', code };
      expect(await deliver(noticeTo(FIRST))).toMatchObject(held);
    }
  });

  it('[error-invalid-access-key-secret] a wrong secret: 401, the queue holds and asks once per probe', async () => {
    const { emulator, deliverUntil, attempts } = await direct({ SECRET_KEY: 'wrong' });
    const held = await deliverUntil('hold', noticeTo(FIRST));
    expect(held).toMatchObject({ hold: 'credentials', code: 'INVALID_ACCESS_KEY' });
    await until(() => emulator.record().tokens.refused >= 3, { what: 'three probes' });
    expect(attempts().every(({ attempt }) => attempt === 1)).toBe(true);
    expect(emulator.record().requests).toBe(0);
  });

  it('[status-401] [status-403] the service asks who calls first (401), and then whether they may (403)', async () => {
    const emulator = await emulatorWith({ tokenMode: 'many' });
    const token = await tokenOf(emulator);
    const allowlist = ['203.0.113.7'];
    emulator.setApp({ accessKey: PAIR.accessKey, approved: false, allowlist });
    const issue = async (secretKey: string) =>
      verdict(await call(emulator, '/api/v2/token', { headers: basic(PAIR.accessKey, secretKey) }));
    expect(await issue('wrong')).toBe('401 INVALID_ACCESS_KEY');
    expect(await issue(PAIR.secretKey)).toBe('403 ACCESS_KEY_NOT_APPROVED');
    expect(verdict(await sendWith(emulator, 'dead'))).toBe('401 INVALID_ACCESS_KEY');
    expect(verdict(await sendWith(emulator, token))).toBe('403 ACCESS_KEY_NOT_APPROVED');
  });

  it('[status-401] [status-403] a status without a code is read by its meaning', async () => {
    for (const [status, code] of [
      [401, 'INVALID_ACCESS_KEY'],
      [403, 'SERVICE_REFUSED'],
    ] as const) {
      // One for each: the probe of the first line's hold must not meet the fault meant for the second.
      const emulator = await emulatorWith();
      emulator.addFault({ on: 'token', times: 1, status });
      const refused = client(emulator.url).issueToken();
      await expect(refused).rejects.toMatchObject({ status, code });
      emulator.addFault({ on: 'token', times: 1, status });
      const { deliver } = await line(emulator.url);
      expect(await deliver(noticeTo(FIRST))).toMatchObject({
        outcome: 'hold',
        hold: 'credentials',
      });
    }
  });

  it('[not-shown-error-body] the code is found wherever services of this kind put it, and a body of no use breaks nothing', async () => {
    const emulator = await emulatorWith();
    const own = 'IP_NOT_ALLOWED';
    const bodies: readonly [Omit<Fault, 'on'>, expected: string][] = [
      [{ status: 403, body: { code: own } }, own],
      [{ status: 403, body: { error: { code: own } } }, own],
      [{ status: 403, body: { error: own } }, own],
      [{ status: 403, body: { errors: [{ code: own }] } }, own],
      [{ status: 403, body: { data: { errorCode: own } } }, own],
      [{ status: 403, body: ['a', 'list'] }, 'SERVICE_REFUSED'],
      [{ status: 403, bodyText: 'Forbidden' }, 'SERVICE_REFUSED'],
      [{ status: 403, bodyText: '<html>Forbidden</html>' }, 'SERVICE_REFUSED'],
      [{ status: 403, body: { code: own }, truncate: 5 }, 'SERVICE_REFUSED'],
      [{ status: 403, body: { code: 'X' }, hugeBody: 1_000_000 }, 'SERVICE_REFUSED'],
    ];
    for (const [fault, expected] of bodies) {
      emulator.addFault({ on: 'token', times: 1, ...fault });
      const refused: unknown = await client(emulator.url)
        .issueToken()
        .catch((error: unknown) => error);
      const code = refused instanceof NoticeQueueError ? refused.code : refused;
      expect({ fault, code }).toEqual({ fault, code: expected });
    }
  });
});

describe('Errors of the send operation', () => {
  it('[not-shown-send-errors] a refusal of one request is the rejection of that notice under the code of the service; the next one goes', async () => {
    const emulator = await emulatorWith({
      unknownTemplates: ['GONE'],
      rejectContacts: [SECOND],
    });
    const { deliver } = await line(emulator.url);
    const gone = await deliver({ ...noticeTo(FIRST), templateCode: 'GONE' });
    expect(gone).toMatchObject({ outcome: 'rejected', status: 404, code: 'TEMPLATE_NOT_FOUND' });
    const contact = await deliver(noticeTo(SECOND));
    expect(contact).toMatchObject({ outcome: 'rejected', status: 400, code: 'INVALID_CONTACT' });
    emulator.addFault({ on: 'send', times: 1, status: 200, body: { success: false, code: 'NO' } });
    expect(await deliver(noticeTo(THIRD))).toMatchObject({ outcome: 'rejected', code: 'NO' });
    expect(await deliver(noticeTo(THIRD))).toMatchObject({ outcome: 'accepted' });
    expect(acceptedNumbers(emulator)).toEqual([THIRD]);
  });

  it('[not-shown-send-errors] no credit holds the queue, and a 5xx is unknown and tried again', async () => {
    const { emulator, deliver } = await direct();
    emulator.addFault({ on: 'send', times: 1, status: 402 });
    expect(await deliver(noticeTo(FIRST))).toMatchObject({ outcome: 'hold', hold: 'credit' });
    await until(() => acceptedNumbers(emulator).includes(FIRST), { what: 'the probe' });
    emulator.addFault({ on: 'send', times: 1, status: 503 });
    expect(await deliver(noticeTo(SECOND))).toMatchObject({ outcome: 'unknown', status: 503 });
    await until(() => acceptedNumbers(emulator).includes(SECOND), { what: 'the second attempt' });
  });
});
