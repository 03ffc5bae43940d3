import { describe, expect, it } from 'vitest';
import { run } from '../support/run.ts';

interface Report {
  readonly rows: readonly { name: string; value: string; from: string }[];
  readonly issues: readonly { field: string }[];
}

const CANARY = 'CANARY-5bd1';
const GOOD = {
  BASE_URL: 'https://service.example',
  ACCESS_KEY: `${CANARY}-access`,
  SECRET_KEY: `${CANARY}-secret`,
  REDIS_URL: `redis://user:${CANARY}@127.0.0.1:6379`,
  REDIS_SENTINEL_PASSWORD: `${CANARY}-sentinel`,
  PROXY_URL: `http://user:${CANARY}@proxy.example:3128`,
  CONCURRENCY: '7',
};

describe('notices config', () => {
  it('prints what is in effect and where from, secrets masked', async () => {
    const json = await run(['config', '--json'], GOOD);
    expect([json.code, json.stderr]).toEqual([0, '']);
    const { rows, issues } = JSON.parse(json.stdout) as Report;
    expect(issues).toEqual([]);
    const byName = Object.fromEntries(rows.map((row) => [row.name, row]));
    expect(byName['CONCURRENCY']).toMatchObject({ value: '7', from: 'environment' });
    expect(byName['CHUNK_SIZE']).toMatchObject({ value: '1000', from: 'default' });
    expect(byName['SECRET_KEY']?.value).toBe('set (18 characters)');
    const words = await run(['config'], GOOD);
    expect(words.code).toBe(0);
    expect(words.stdout).toMatch(/^CONCURRENCY +7 +environment$/m);
    expect(json.stdout + words.stdout + words.stderr).not.toContain(CANARY);
  });

  it('wrong: exit code 2, every variable named, and still no secret', async () => {
    const env = { ...GOOD, CONCURRENCY: '-1', SECRET_KEY: `${CANARY}\nx`, API_VERSION: 'v3' };
    const json = await run(['config', '--json'], env);
    expect(json.code).toBe(2);
    const { issues } = JSON.parse(json.stdout) as Report;
    expect(issues.map(({ field }) => field).sort()).toEqual([
      'API_VERSION',
      'CONCURRENCY',
      'SECRET_KEY',
    ]);
    const words = await run(['config'], env);
    expect(words.code).toBe(2);
    expect(words.stdout).toMatch(/^invalid: CONCURRENCY: /m);
    expect(json.stdout + words.stdout).not.toContain(CANARY);
  });

  it('--producer: fine without an address and keys of the service', async () => {
    expect((await run(['config'])).code).toBe(2);
    expect((await run(['config', '--producer'])).code).toBe(0);
  });
});
