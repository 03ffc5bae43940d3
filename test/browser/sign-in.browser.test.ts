import { describe, expect, it } from 'vitest';
import { PASSWORD, startOps } from '../ops/web/support/ops-bench.ts';
import { testRedis } from '../support/redis.ts';
import { visit } from './support/visit.ts';

const redis = testRedis();

describe('a person with a password', () => {
  it('signs in, is led to the page asked for, signs out, and Back shows nothing', async () => {
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
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();

    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    expect(await page.content()).not.toContain('There are no batches.');
  });
});
