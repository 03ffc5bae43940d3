import { describe, expect, it } from 'vitest';
import { freePort } from '../../scripts/redis/free-port.ts';
import { CLIENT_ID, CLIENT_SECRET, startProvider } from '../ops/web/support/oidc-provider.ts';
import { PASSWORD, startOps } from '../ops/web/support/ops-bench.ts';
import { testRedis } from '../support/redis.ts';
import { headline } from './support/read-page.ts';
import { visit, type Visit } from './support/visit.ts';

const redis = testRedis();

describe('a person with a password', () => {
  it('signs in, is led to the page asked for, and signs out', async () => {
    const ops = await startOps(redis.url, redis.freshPrefix());
    const { page, forgive } = await visit(ops.url);
    // A page that nobody may see is answered 401, with the form to sign in.
    forgive(/status of 401/);
    await page.goto('/batches');
    await page.getByLabel('Name').fill('otto');
    await page.getByLabel('Password').fill('not the password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').filter({ hasText: /./ }).waitFor();
    await page.getByLabel('Name').fill('otto');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Batches' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/batches');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Password').waitFor();
  });
});

describe('a person of the provider', () => {
  const HOLD = 'Hold the queue...';

  /** An ops server, a provider that is another site to the browser, and a window without a session. */
  async function start() {
    const publicUrl = `http://127.0.0.1:${await freePort()}`;
    const provider = await startProvider(`${publicUrl}/sign-in/provider/callback`, 'localhost');
    const ops = await startOps(redis.url, redis.freshPrefix(), {
      OPS_PORT: new URL(publicUrl).port,
      OPS_PUBLIC_URL: publicUrl,
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: CLIENT_ID,
      OIDC_CLIENT_SECRET: CLIENT_SECRET,
      OIDC_ROLES: 'notice-admins:operator, support:viewer',
    });
    // Then the way back starts at the other site, and the browser holds strict cookies back.
    provider.asks = true;
    const visited = await visit(ops.url);
    visited.forgive(/status of 401/);
    visited.forgive(new RegExp(`^elsewhere: ${provider.issuer}$`));
    return { provider, ops, ...visited };
  }

  async function signIn(page: Visit['page'], role: string): Promise<void> {
    await page.getByRole('link', { name: 'Sign in with single sign-on' }).click();
    await page.getByRole('link', { name: 'I am Kim' }).click();
    await page.getByText(`oidc:kim@example.test (${role})`).waitFor();
  }

  async function signOut(page: Visit['page']): Promise<void> {
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  }

  it('sees and does what the role allows, signs out, and Back shows nothing', async () => {
    const { page, provider, ops } = await start();
    const person = { sub: '1', email: 'kim@example.test', email_verified: true };
    provider.claims = { ...person, roles: ['staff', 'support'] };
    await page.goto('/batches');
    await signIn(page, 'viewer');
    expect(page.url()).toBe(`${ops.url}/batches`);
    await page.getByText('There are no batches.').waitFor();
    await page.goto('/');
    await headline(page, 'No worker');
    expect(await page.getByText(HOLD).count()).toBe(0);
    await signOut(page);

    provider.claims = { ...person, roles: ['support', 'notice-admins'] };
    await signIn(page, 'operator');
    await page.goto('/');
    const state = page.locator('#state');
    await state.getByText(HOLD).click();
    await state.getByLabel('Why').fill('the text is wrong');
    await state.getByRole('button', { name: 'Hold the queue' }).click();
    await headline(page, 'Held: manual');
    await page.getByRole('link', { name: 'Audit' }).click();
    const entry = page.getByRole('row', { name: /the text is wrong/ });
    expect(await entry.textContent()).toMatch(/oidc:kim@example\.test[\s\S]*hold/);
    await signOut(page);

    await page.goBack();
    expect(page.url()).toBe(`${ops.url}/audit`);
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    expect(await page.content()).not.toMatch(/kim@example|the text is wrong/);
  });
});
