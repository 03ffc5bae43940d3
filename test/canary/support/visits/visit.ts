import { NOBODY, program, type Visits } from './ask.ts';
import { changeAll, changeWrongly } from './changes.ts';
import { notice, type Sent } from '../play.ts';
import type { World } from '../world.ts';
import { NUMBERS, SECRETS, VALUES } from '../canaries.ts';

/** Routes that are not answered with 200, by visitor. */
export interface Unanswered {
  readonly viewer: readonly string[];
  readonly operator: readonly string[];
}

/** People and programs at the ops server, with right and with wrong passwords, bodies and numbers. */
export async function visitAll(world: World, visits: Visits, sent: Sent): Promise<Unanswered> {
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
      await visits.ask('/api/v1/failures/preview', who, { number });
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

/** Notices over HTTP, most of them not valid. */
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
}
