import { expect, it } from 'vitest';
import { chatText, describeEvent } from '../../src/events/describe.ts';
import type { BatchFinished, NoticeEvent } from '../../src/events/event.ts';

const HEAD = { cursor: '1-1', at: 1 };
const finished = (batch: string, accepted: number): BatchFinished => ({
  ...HEAD,
  event: 'batch.finished',
  batch,
  phase: 'finished',
  total: 1_200,
  accepted,
  rejected: 1_200 - accepted,
  unknown: 0,
  expired: 0,
  cancelled: 0,
  suppressed: 0,
  possiblySentTwice: 0,
});
const ended: NoticeEvent = {
  ...HEAD,
  event: 'notice.ended',
  notice: 'n',

  state: 'accepted',
};

it('a chat gets a line for each event with what to do, and no single notices', () => {
  expect(chatText('notices:default', [ended, finished('spring', 0), finished('may', 1_200)])).toBe(
    '[notices:default] a batch has no pending contacts any more: batch spring, none of 1,200 contacts accepted. To do: list what was not accepted with "notices failures BATCH".\n' +
      '[notices:default] a batch has no pending contacts any more: batch may, all 1,200 contacts accepted.',
  );
  expect(chatText('q', [ended])).toBeUndefined();
});

it('a message for a chat says how many more there are', () => {
  const many = Array.from({ length: 20 }, (_, index) => finished(`b${index}`, 1));
  const lines = chatText('q', many)?.split('\n') ?? [];
  expect([lines.length, lines.at(-1)]).toEqual([9, '[q] 12 more: "notices events" lists them.']);
});

it('the remedy of a hold is that of its kind', () => {
  const held = {
    ...HEAD,
    event: 'hold.begun',
    kind: 'credit',
    template: '',
    code: 'HTTP_402',
    since: 1,
  } as const;
  expect(describeEvent(held)).toEqual({
    title: expect.stringContaining(
      'nothing is sent: the credit of the account has run out',
    ) as string,
    remedy: 'top up the account at the service',
  });
  const template = 'ORDER_SHIPPED';
  expect(
    describeEvent({ ...held, kind: 'template', code: 'TEMPLATE_NOT_APPROVED', template }),
  ).toEqual({
    title: expect.stringContaining(
      ': template ORDER_SHIPPED, the service refuses notice after notice of this template alike, and accepts none (template, TEMPLATE_NOT_APPROVED)',
    ) as string,
    remedy: expect.stringContaining('check the template at the service') as string,
  });
  expect(
    describeEvent({ ...HEAD, event: 'hold.ended', kind: 'template', template, since: 1 }),
  ).toEqual({
    title: 'a hold has ended: template ORDER_SHIPPED, template',
    remedy: '',
  });
});
