import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { assetPath } from '../../../src/ops/web/assets.ts';
import { testRedis } from '../../support/redis.ts';
import { startOps } from './support/ops-bench.ts';

const redis = testRedis();
const FOLDER = 'src/ops/web/assets';

const files = readdirSync(FOLDER).filter((name) => /\.(css|js|svg)$/.test(name));

describe('what browsers load', () => {
  it('is kept for ever under a name that changes with it', async () => {
    const { nobody } = await startOps(redis.url, redis.freshPrefix());
    expect(files.length).toBeGreaterThan(2);
    for (const name of files) {
      const reply = await nobody.get(assetPath(name));
      expect([name, reply.status]).toEqual([name, 200]);
      expect(reply.text).toBe(readFileSync(`${FOLDER}/${name}`, 'utf8'));
      expect(reply.headers['cache-control']).toBe('public, max-age=31536000, immutable');
      expect(reply.headers['content-type']).toMatch(
        /^(text\/(css|javascript); charset=utf-8|image\/svg\+xml)$/,
      );
    }
  });

  it('is nothing but what is meant, and of another version not kept', async () => {
    const { nobody } = await startOps(redis.url, redis.freshPrefix());
    for (const name of ['tsconfig.json', '..%2froute.ts', '%2e%2e%2froute.ts', 'x', '__proto__']) {
      expect([name, (await nobody.get(`/assets/x/${name}`)).status]).toEqual([name, 404]);
    }
    const reply = await nobody.get('/assets/0123456789ab/ops.css');
    expect([reply.status, reply.headers['cache-control']]).toEqual([200, 'no-cache']);
  });
});
