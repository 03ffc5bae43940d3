import { describe, expect, test } from 'vitest';
import { data, NOTICE, noticeTo, sendWith, tokenOf, verdict } from './calls.ts';
import { emulatorWith } from './running.ts';

describe('the record of accepted contacts', () => {
  test('is exact: totals, different numbers, numbers accepted twice, in order of arrival', async () => {
    const emulator = await emulatorWith();
    const token = await tokenOf(emulator);
    await sendWith(emulator, token, noticeTo('3', '1', '2', '1'));
    await sendWith(emulator, token, noticeTo('2', '1'));
    await sendWith(emulator, token, noticeTo());
    expect(emulator.record()).toMatchObject({
      requests: 2,
      contacts: 6,
      distinct: 3,
      twice: 2,
      answers: { send: { SUCCESS: 2, EMPTY_CONTACTS: 1 }, token: { SUCCESS: 1 } },
    });
    expect([...emulator.contacts()]).toEqual([
      { contact: '3', count: 1 },
      { contact: '1', count: 3 },
      { contact: '2', count: 2 },
    ]);
    expect([...emulator.contacts(true)].map(({ contact }) => contact)).toEqual(['1', '2']);
  });

  test('details hold variables, template, fields, request id and time', async () => {
    const emulator = await emulatorWith();
    const token = await tokenOf(emulator);
    const before = Date.now();
    const answer = await sendWith(emulator, token, { ...NOTICE, replaceSms: 'Y' });
    const { contacts: _, ...fields } = NOTICE;
    const [detail] = emulator.details();
    expect(detail).toEqual({
      contact: '01000000001',
      vars: { var1: '하나' },
      templateCode: 'WELCOME',
      fields: { ...fields, replaceSms: 'Y' },
      requestId: data(answer)['requestId'],
      at: expect.any(Number) as unknown,
    });
    expect(detail?.at).toBeGreaterThanOrEqual(before);
  });

  test('details are kept of the last contacts only, counts of all', async () => {
    const emulator = await emulatorWith({ keepDetails: 2 });
    const token = await tokenOf(emulator);
    await sendWith(emulator, token, noticeTo('1', '2', '3'));
    await sendWith(emulator, token, noticeTo('4', '5'));
    expect(emulator.details().map(({ contact }) => contact)).toEqual(['4', '5']);
    expect(emulator.record().contacts).toBe(5);
  });

  test('reset forgets record, issuances, faults and waiting revocations; the token lives on', async () => {
    const emulator = await emulatorWith();
    const token = await tokenOf(emulator);
    await sendWith(emulator, token);
    emulator.addFault({ on: 'any', status: 500 });
    emulator.revokeTokens({ afterAccepted: 2 });
    emulator.reset();
    expect(emulator.record()).toEqual({
      requests: 0,
      contacts: 0,
      distinct: 0,
      twice: 0,
      tokens: { issued: 0, refused: 0, foreign: 0 },
      revocations: 0,
      answers: { token: {}, send: {} },
    });
    expect(emulator.issuances()).toEqual([]);
    expect(emulator.faults()).toEqual([]);
    for (let sent = 0; sent < 3; sent += 1) {
      expect((await sendWith(emulator, token)).status).toBe(200);
    }
  });
});

describe('revocation after so many accepted contacts', () => {
  test('strikes right after the send that reaches the total, once for each that waits', async () => {
    const emulator = await emulatorWith();
    emulator.revokeTokens({ afterAccepted: 5 });
    emulator.revokeTokens({ afterAccepted: 2 });
    let token = await tokenOf(emulator);
    const codes: string[] = [];
    for (let number = 1; number <= 8; number += 1) {
      const answer = await sendWith(emulator, token, noticeTo(String(number)));
      codes.push(verdict(answer));
      if (answer.status === 401) token = await tokenOf(emulator);
    }
    const refused = [...codes.keys()].filter((index) => codes[index] !== '200 SUCCESS');
    expect(refused).toEqual([2, 6]);
    expect(emulator.record()).toMatchObject({ contacts: 6, revocations: 2, tokens: { issued: 3 } });
  });

  test('strikes at once when the total is reached already', async () => {
    const emulator = await emulatorWith();
    const token = await tokenOf(emulator);
    await sendWith(emulator, token, noticeTo('1', '2'));
    expect(emulator.revokeTokens({ afterAccepted: 2 })).toBe(1);
    expect((await sendWith(emulator, token)).status).toBe(401);
  });
});
