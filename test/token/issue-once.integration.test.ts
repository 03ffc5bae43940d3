import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { issueOnce } from '../../src/token/issue-once.ts';
import { TokenSeal } from '../../src/token/token-seal.ts';
import { tokenOf } from '../../src/token/token-value.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { PAIR, SECRET, SETTINGS, World } from './support/world.ts';

const redis = testRedis();

describe('issueOnce', () => {
  let world: World;
  beforeEach(() => {
    world = new World(redis);
  });
  afterEach(() => world.close());

  const once = (replaced: string) =>
    issueOnce(
      {
        redis: world.client,
        keys: world.keys,
        seal: new TokenSeal(SECRET, PAIR),
        issue: world.issuer.issue,
        settings: SETTINGS,
        issuer: 'doctor host:1',
      },
      replaced,
    );

  it('stores a token where there is none, and the fleet takes it', async () => {
    expect(await once('')).toMatchObject({ kind: 'issued', id: tokenOf('value-1').id });
    const { slot } = await world.member();
    expect((await slot.get()).value).toBe('value-1');
    expect(world.issuer.asked).toBe(1);
  });

  it('replaces the one that lives, and who holds it goes over to the new one', async () => {
    const { slot } = await world.member();
    const { id } = await slot.get();
    expect(await once(id)).toMatchObject({ kind: 'issued' });
    await until(async () => (await slot.get()).value === 'value-2', { what: 'the new token' });
    expect(world.issuer.asked).toBe(2);
  });

  it('that fails says why, and nobody remembers it', async () => {
    world.issuer.plan(() => Promise.reject(new NoticeQueueError('IP_NOT_ALLOWED')));
    const failed = await once('');
    expect(failed).toMatchObject({ kind: 'failed', error: { code: 'IP_NOT_ALLOWED' } });
    const { slot } = await world.member();
    expect((await slot.get()).value).toBe('value-2');
  });

  it('leaves it to whoever issues right now, and to a refusal that stands', async () => {
    await world.client.set(world.keys.lock, 'another', 'PX', SETTINGS.lockTtlMs);
    expect(await once('')).toEqual({ kind: 'left' });
    await world.client.del(world.keys.lock);
    await world.client.hset(world.keys.refused, 'kind', 'credentials', 'code', 'IP_NOT_ALLOWED');
    await world.client.pexpire(world.keys.refused, 2_000);
    expect(await once('')).toEqual({ kind: 'left' });
    expect(world.issuer.asked).toBe(0);
  });

  it('issues nothing where another token is there by now', async () => {
    const { slot } = await world.member();
    await slot.get();
    expect(await once('')).toEqual({ kind: 'left' });
    expect(world.issuer.asked).toBe(1);
  });
});
