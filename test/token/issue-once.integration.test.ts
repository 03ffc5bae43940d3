import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { SharedToken } from '../../src/token/shared-token.ts';
import { TokenSeal } from '../../src/token/token-seal.ts';
import { tokenOf } from '../../src/token/token-seal.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { PAIR, SECRET, SETTINGS, World } from './support/world.ts';
import { writeState } from './support/write-state.ts';

const redis = testRedis();

describe('issueOnce', () => {
  let world: World;
  beforeEach(() => {
    world = new World(redis);
  });
  afterEach(() => world.close());

  const once = (replaced: string) =>
    new SharedToken({
      redis: world.client,
      keys: world.keys,
      seal: new TokenSeal(SECRET, PAIR),
      issue: world.issuer.issue,
      settings: SETTINGS,
      issuer: 'doctor host:1',
    }).issueOnce(replaced);

  it('stores a token when there is none, and the fleet uses it', async () => {
    expect(await once('')).toEqual(tokenOf('value-1'));
    const { shared } = await world.member();
    expect((await shared.get()).value).toBe('value-1');
    expect(world.issuer.asked).toBe(1);
  });

  it('replaces a valid token, and processes with a copy switch to the new one', async () => {
    const { shared } = await world.member();
    const { id } = await shared.get();
    expect(await once(id)).toEqual(tokenOf('value-2'));
    await until(async () => (await shared.get()).value === 'value-2', { what: 'the new token' });
    expect(world.issuer.asked).toBe(2);
  });

  it('reports a failure and records no refusal', async () => {
    world.issuer.plan(() => Promise.reject(new NoticeQueueError('IP_NOT_ALLOWED')));
    await expect(once('')).rejects.toMatchObject({ hold: 'credentials', code: 'IP_NOT_ALLOWED' });
    const { shared } = await world.member();
    expect((await shared.get()).value).toBe('value-2');
  });

  it('does nothing while another process issues, or a refusal is in effect', async () => {
    await writeState(world.client, world.keys, { lock: SETTINGS.lockTtlMs });
    expect(await once('')).toBeUndefined();
    const refusal = { code: 'IP_NOT_ALLOWED', ageMs: 0, restMs: 9_000 };
    await writeState(world.client, world.keys, { refusal });
    expect(await once('')).toBeUndefined();
    expect(world.issuer.asked).toBe(0);
  });

  it('issues nothing when another token was stored meanwhile', async () => {
    const { shared } = await world.member();
    await shared.get();
    expect(await once('')).toBeUndefined();
    expect(world.issuer.asked).toBe(1);
  });
});
