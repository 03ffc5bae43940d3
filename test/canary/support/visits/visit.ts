import { OPS_ROUTES } from '../../../../src/ops/web/http/route-table.ts';
import { pathOf } from '../../../ops/web/support/ops-bench.ts';
import { NOBODY, program, type Visitor, type Visits } from './ask.ts';
import { importOne, note, notice, type Sent } from '../play.ts';
import type { World } from '../world.ts';
import { NUMBERS, SECRETS, VALUES } from '../canaries.ts';

/**
 * People and programs at the ops server, with right and with wrong passwords, bodies and numbers.
 *
 * @returns routes that are not answered with 200, by visitor
 */
export async function visitAll(world: World, visits: Visits, sent: Sent) {
  const wrong = new URLSearchParams({ name: 'vera', password: SECRETS.wrongPassword });
  await visits.ask('/sign-in', NOBODY, wrong.toString());
  const asName = new URLSearchParams({ name: SECRETS.wrongPassword, password: 'x' });
  await visits.ask('/sign-in', NOBODY, asName.toString());
  await visits.ask('/', { headers: { authorization: `Bearer ${SECRETS.wrongPassword}` } });
  const vera = await visits.signIn('vera', SECRETS.viewerPassword);
  const otto = await visits.signIn('otto', SECRETS.operatorPassword);
  await visits.readAll(NOBODY, sentIds(sent));
  const viewer = await visits.readAll(vera, sentIds(sent));
  const operator = await visits.readAll(otto, sentIds(sent));
  await enqueue(visits);
  for (const who of [vera, otto, program('viewerKey'), program('operatorKey')]) {
    for (const number of [NUMBERS.accepted, NUMBERS.inList, NUMBERS.badNotice]) {
      await visits.ask('/api/v1/find', who, { number });
      await visits.ask('/api/v1/suppress/check', who, { number });
      await visits.ask('/api/v1/failures/preview', who, { number, state: 'rejected' });
      const { 'x-csrf-token': token = '' } = who.headers;
      const form = new URLSearchParams({ number, _csrf: token }).toString();
      await visits.ask('/find', who, form);
    }
  }
  await changeAll(world, sent, visits, otto);
  await changeWrongly(visits, [otto, program('senderKey')]);
  await visits.ask('/sign-out', vera, '');
  await visits.ask('/', vera);
  return { viewer, operator };
}

const sentIds = ({ ids, batches }: Sent) => ({ notices: ids, batches });

/** Notices and lists over HTTP, most of them not valid. */
async function enqueue(visits: Visits): Promise<void> {
  const shop = program('senderKey');
  const bodies = [
    { notice: notice(NUMBERS.byApi), options: { idempotencyKey: 'order-2' } },
    { notice: notice(NUMBERS.badNotice) },
    { notice: notice(NUMBERS.byApi), other: VALUES.value },
    { notice: notice(NUMBERS.byApi), options: { delay: VALUES.value } },
    { notice: { templateCode: VALUES.value, contacts: VALUES.value } },
    { notice: { templateCode: 'CANARY', contacts: [VALUES.value, NUMBERS.byApi] } },
  ];
  for (const body of bodies) await visits.ask('/api/v1/notices', shop, body);
  const cutOff = JSON.stringify(bodies[1]).slice(0, -5);
  const asJson = { headers: { ...shop.headers, 'content-type': 'application/json' } };
  await visits.ask('/api/v1/notices', asJson, cutOff);
  const rows = [
    { contact: NUMBERS.inList, var1: VALUES.value },
    { contact: NUMBERS.badRow, var1: VALUES.badRowValue, other: VALUES.value },
    { contact: VALUES.value },
  ];
  const list = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  const asList = { headers: { ...shop.headers, 'content-type': 'application/x-ndjson' } };
  for (const body of [list, list.slice(0, -5), list.slice(5)]) {
    await visits.ask('/api/v1/batches?templateCode=CANARY&dryRun=true', asList, body);
  }
}

const why = 'a test';

/** Everything that changes something over HTTP, as far as `visitAll` does not do it. */
async function changeAll(
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
    ['suppress/add', { number: NUMBERS.optedOut }],
    ['suppress/remove', { number: NUMBERS.optedOut }],
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
    return note(sent, id, number);
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
