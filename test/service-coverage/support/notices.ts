import type { Notice } from '../../../src/contracts/notice.ts';

/** Numbers that nobody has. */
export const [FIRST, SECOND, THIRD] = ['01000000001', '01000000002', '01000000003'] as const;

/** A notice to these numbers that says no more than it must. */
export function noticeTo(...numbers: readonly string[]): Notice {
  return { templateCode: 'ORDER_SHIPPED', contacts: numbers.map((contact) => ({ contact })) };
}

/** A notice that uses every documented field. */
export const FULL_NOTICE: Notice = {
  templateCode: 'ORDER_SHIPPED',
  scheduleType: 'DIRECTLY',
  chatSenderKey: 'chat-sender-key',
  senderKey: 'sms-sender-key',
  contacts: [{ contact: FIRST, var1: 'Kim' }],
};
