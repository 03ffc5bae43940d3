import { describe, expect, it } from 'vitest';
import type { Notice } from '../../src/contracts/notice.ts';
import { sendWith, tokenOf, verdict } from '../emulator/calls.ts';
import { acceptedNumbers, room } from './support/line.ts';
import { FIRST, FULL_NOTICE, noticeTo, SECOND, THIRD } from './support/notices.ts';

const { wired, direct } = room();

/** Notices as a caller without types may write them. */
function wrong(fields: object): Notice {
  return { ...FULL_NOTICE, ...fields };
}

describe('Send request body', () => {
  it('[field-template-code] the template code goes as it is; one that is no text is refused by name', async () => {
    const { emulator, deliver, queue } = await direct();
    await deliver({ ...noticeTo(FIRST), templateCode: '주문-배송 / 7' });
    expect(emulator.details()[0]?.templateCode).toBe('주문-배송 / 7');
    for (const templateCode of [7, '', undefined]) {
      await expect(queue.send(wrong({ templateCode }))).rejects.toThrow(/templateCode/);
    }
  });

  it('[field-schedule-type] [not-shown-schedule-types] the schedule type is DIRECTLY; another one and what belongs to it pass through', async () => {
    const { emulator, deliver, queue } = await direct();
    await deliver(noticeTo(FIRST));
    expect(emulator.details()[0]?.fields).toMatchObject({ scheduleType: 'DIRECTLY' });
    const later = { scheduleType: 'SCHEDULED', at: '2031-01-01 09:00:00' };
    await deliver({ ...noticeTo(SECOND), ...later });
    expect(emulator.details()[1]?.fields).toMatchObject(later);
    await expect(queue.send(wrong({ scheduleType: 1 }))).rejects.toThrow(/scheduleType/);
  });

  it('[field-chat-sender-key] [field-sender-key] the sender key of a channel: of the notice, else the default', async () => {
    const { emulator, deliver, queue } = await direct({
      DEFAULT_CHAT_SENDER_KEY: 'default-chat',
      DEFAULT_SENDER_KEY: 'default-sms',
    });
    await deliver({ ...noticeTo(FIRST), chatSenderKey: 'own-chat', senderKey: 'own-sms' });
    await deliver(noticeTo(SECOND));
    const keys = emulator
      .details()
      .map(({ fields }) => [fields['chatSenderKey'], fields['senderKey']]);
    expect(keys).toEqual([
      ['own-chat', 'own-sms'],
      ['default-chat', 'default-sms'],
    ]);
    await expect(queue.send(wrong({ chatSenderKey: 1 }))).rejects.toThrow(/chatSenderKey/);
    await expect(queue.send(wrong({ senderKey: {} }))).rejects.toThrow(/senderKey/);
  });

  it('[not-shown-chat-sender-key-name] CHAT_SENDER_KEY_FIELD names the field in the interface', async () => {
    const { wire, deliver } = await wired({ CHAT_SENDER_KEY_FIELD: 'brandSenderKey' });
    await deliver(FULL_NOTICE);
    const { chatSenderKey, ...rest } = FULL_NOTICE;
    const body = JSON.parse(wire.calls.at(-1)?.body ?? '') as unknown;
    expect(body).toEqual({ ...rest, brandSenderKey: chatSenderKey });
  });

  it('[field-contacts] contacts go as one list in their order; anything but a list of objects is refused', async () => {
    const { emulator, deliver, queue } = await direct();
    await deliver(noticeTo(THIRD, FIRST, SECOND));
    expect(acceptedNumbers(emulator)).toEqual([THIRD, FIRST, SECOND]);
    expect(emulator.record().requests).toBe(1);
    for (const contacts of [FIRST, [FIRST], [], undefined]) {
      await expect(queue.send(wrong({ contacts }))).rejects.toThrow(/contacts/);
    }
  });

  it('[field-contact-contact] a number is digits only, in the national format, on our side and at the service', async () => {
    const { emulator, deliver, queue } = await direct();
    await deliver(noticeTo(FIRST));
    expect(emulator.details()[0]?.contact).toBe(FIRST);
    const token = await tokenOf(emulator);
    for (const contact of ['010-0000-0001', '+821000000001', '010 0000 0001', '', 1_000_000_001]) {
      const notice = wrong({ contacts: [{ contact }] });
      const refused = await queue.send(notice).catch(String);
      expect(refused).toContain('contacts[0].contact');
      // Zeros of the number would stand here if the error quoted it.
      expect(refused).not.toMatch(/0{3}/);
      expect(verdict(await sendWith(emulator, token, notice))).toBe('400 INVALID_CONTACT');
    }
  });

  it('[field-contact-var1] [not-shown-variables] values are text; those of other variables and fields that are not shown pass through', async () => {
    const { emulator, deliver, queue } = await direct();
    const known = { var1: '김하나 "A" \u{1F4E6}', var2: 'b', var8: 'c', name: 'Kim' };
    const fields = { var100: 'd', rank: 3 };
    await deliver({ ...noticeTo(), contacts: [{ contact: FIRST, ...known, fields }] });
    expect(emulator.details()[0]?.vars).toEqual({ ...known, ...fields });
    const number = wrong({ contacts: [{ contact: FIRST, var1: 1 }] });
    await expect(queue.send(number)).rejects.toThrow(/contacts\[0\]\.var1/);
  });

  it('[not-shown-required-fields] a notice needs a template code and contacts; sender keys may be left out or configured', async () => {
    const { wire, deliver, restart } = await wired();
    await deliver(noticeTo(FIRST));
    await restart({ DEFAULT_CHAT_SENDER_KEY: 'chat', DEFAULT_SENDER_KEY: 'sms' });
    await deliver(noticeTo(FIRST));
    const sends = wire.calls.filter(({ path }) => path.endsWith('/send'));
    const bare = { ...noticeTo(FIRST), scheduleType: 'DIRECTLY' };
    expect(sends.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      bare,
      { ...bare, chatSenderKey: 'chat', senderKey: 'sms' },
    ]);
  });

  it('[not-shown-max-contacts] a notice is one request of at most 1,000 contacts', async () => {
    const { emulator, deliver } = await direct({}, { maxContactsPerRequest: 2 });
    await deliver(noticeTo(FIRST, SECOND));
    const refused = await deliver(noticeTo(FIRST, SECOND, THIRD));
    expect(refused).toMatchObject({ outcome: 'rejected', code: 'TOO_MANY_CONTACTS' });
    expect(acceptedNumbers(emulator).sort()).toEqual([FIRST, SECOND]);
    const tooLong = noticeTo(...Array.from({ length: 1_001 }, () => FIRST));
    await expect(deliver(tooLong)).rejects.toMatchObject({ code: 'NOTICE_INVALID' });
  });
});
