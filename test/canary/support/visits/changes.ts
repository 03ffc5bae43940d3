import { OPS_ROUTES } from '../../../../src/ops/web/http/route-table.ts';
import { pathOf } from '../../../ops/web/support/ops-bench.ts';
import { program, type Visitor, type Visits } from './ask.ts';
import { NUMBERS, VALUES } from '../canaries.ts';
import { importOne, notice, type Sent } from '../play.ts';
import type { World } from '../world.ts';

const why = 'a test';

/** Everything that changes something over HTTP, as far as `visitAll` does not do it. */
export async function changeAll(
  world: World,
  sent: Sent,
  visits: Visits,
  operator: Visitor,
): Promise<void> {
  const change = async (changes: readonly (readonly [path: string, body?: object])[]) => {
    for (const [path, body] of changes)
      await visits.ask(`/api/v1/${path}`, operator, { ...body, why });
  };
  await change([['hold/place']]);
  await importOne(world, sent, 'web', 'inWebList');
  await cancelNotices(visits, sent);
  await change([
    ['batches/web/rate', { rate: 500 }],
    ['batches/web/pause'],
    ['batches/web/resume'],
    ['batches/web/cancel'],
    ['waiting/cancel', { template: 'OF_NOBODY' }],
    ['hold/lift'],
    ['rate-limit', { rateLimit: 500 }],
    ['failures/decide', { as: 'resend', batch: 'spring', limit: 1 }],
    ['failures/decide', { as: 'discard', state: 'rejected', template: 'CANARY', limit: 1 }],
    ['failures/decide', { as: 'resend', single: true, template: 'CANARY', limit: 2 }],
    ['account-events/replay', { cursor: '0' }],
    ['restored/park'],
    ['sessions/end', { user: 'of-nobody' }],
    ['erase', { number: NUMBERS.searched }],
    ['failures/decide', { as: 'accepted', number: NUMBERS.unknownToo }],
  ]);
}

/** Delayed notices, cancelled by their ids and by their idempotency keys. */
async function cancelNotices(visits: Visits, sent: Sent): Promise<void> {
  const shop = program('senderKey');
  const send = async (number: string, idempotencyKey: string) => {
    const options = { delay: 3_600_000, idempotencyKey };
    const given = await visits.ask('/api/v1/notices', shop, { notice: notice(number), options });
    const { id } = JSON.parse(given.text) as { id: string };
    sent.ids.push(id);
    sent.notices.push(notice(number));
    return id;
  };
  const id = await send(NUMBERS.cancelledById, 'order-3');
  await visits.ask(`/api/v1/notices/${id}/cancel`, shop, { why });
  await send(NUMBERS.cancelledByKey, 'order-4');
  await visits.ask('/api/v1/notices/cancel', shop, { idempotencyKey: 'order-4', why });
}

/** Bodies that no route takes, with numbers and values where a message about them could repeat them. */
export async function changeWrongly(visits: Visits, callers: readonly Visitor[]): Promise<void> {
  const body = {
    [VALUES.value]: VALUES.value,
    number: NUMBERS.badNotice,
    notice: { ...notice(NUMBERS.badNotice), [VALUES.value]: NUMBERS.byApi },
    rateLimit: VALUES.value,
    ids: [{ id: NUMBERS.badNotice }],
    why: [VALUES.value],
  };
  for (const { method, path } of OPS_ROUTES) {
    if (method === 'GET' || path === '/sign-in' || path === '/sign-out') continue;
    for (const caller of callers) await visits.ask(pathOf({ path }), caller, body);
  }
}
