import type { TestProvider } from '../../../ops/web/support/oidc-provider.ts';
import { NOBODY, type Visitor, type Visits } from './ask.ts';
import { NUMBERS, OPS_VARIABLES } from '../canaries.ts';

const KIM = { sub: 'person-1', email: 'kim@example.test', email_verified: true };

/**
 * People whom the provider sends: one with a role, who comes back a second time with the same answer, one without a
 * role, one with a token that is not valid; and a provider that fails.
 *
 * @returns the one with a role
 */
export async function visitByProvider(visits: Visits, provider: TestProvider): Promise<Visitor> {
  const person = { ...KIM, phone_number: NUMBERS.ofPerson };
  provider.claims = { ...person, roles: 'admins' };
  const way = await visitProvider(visits);
  const { cookie } = await comeBack(visits, way);
  await comeBack(visits, way);
  for (const claims of [{ roles: 'staff' }, { roles: 'admins', nonce: 'another' }]) {
    provider.claims = { ...person, ...claims };
    await comeBack(visits, await visitProvider(visits));
  }
  const last = await visitProvider(visits);
  provider.trouble.set('/token', 'fail');
  await comeBack(visits, last);
  provider.trouble.clear();
  return visits.enter('kim', cookie);
}

/** What a browser has when the provider has sent it back. */
interface Way {
  readonly back: string;
  readonly cookie: string;
}

async function visitProvider(visits: Visits): Promise<Way> {
  const { location, cookie } = await visits.ask('/sign-in/provider?next=%2F', NOBODY);
  const answer = await fetch(location, { redirect: 'manual' });
  const back = answer.headers.get('location') ?? '';
  return { back: back.slice(OPS_VARIABLES.OPS_PUBLIC_URL.length), cookie };
}

const comeBack = (visits: Visits, { back, cookie }: Way) =>
  visits.ask(back, { headers: { cookie } }, undefined, 'answer to a sign-in');
