import { afterEach, describe, expect, it } from 'vitest';
import type { TokenSource } from '../../src/contracts/token.ts';
import { startEmulator } from '../../src/emulator/emulator.ts';
import type { Emulator } from '../../src/emulator/emulator.ts';
import type { EmulatorOptions } from '../../src/emulator/options.ts';
import { decideOutcome } from '../../src/service/outcome-table.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import type { ServiceSettings } from '../../src/service/settings.ts';
import { CANARY, NOTICE, openClient } from './support/client.ts';

/** The client against the emulator, which knows the service's document and nothing of ours. */

let emulator: Emulator | undefined;

afterEach(async () => {
  await emulator?.close();
  emulator = undefined;
});

async function start(
  options: EmulatorOptions = {},
  overrides: Partial<ServiceSettings> = {},
): Promise<{ client: ServiceClient; running: Emulator }> {
  const { accessKey, secretKey } = CANARY;
  const running = await startEmulator({ accessKey, secretKey, ...options });
  emulator = running;
  return { running, client: openClient(running.url, overrides) };
}

/** A token source that issues whenever it is asked for another token. */
function issuing(client: ServiceClient): TokenSource {
  let count = 0;
  const issue = async () => {
    const { value } = await client.issueToken();
    count += 1;
    return { id: `issued-${count}`, value };
  };
  let current = issue();
  return {
    get: () => current,
    renew: () => {
      current = issue();
      return current;
    },
  };
}

const WITHIN = { deadlineMs: 5_000 };

describe.each([
  { apiVersion: 'v2', sendPath: '/api/v2/notices/send' },
  { apiVersion: 'v1', sendPath: '/api/v1/notices/send' },
] as const)('$apiVersion', (version) => {
  it('issues a token and sends with it', async () => {
    const { client, running } = await start({}, version);
    const answer = await client.send(NOTICE, issuing(client), WITHIN);
    expect(decideOutcome(answer)).toStrictEqual({ kind: 'accepted', confirmed: true });
    expect(running.record()).toMatchObject({ contacts: 1, requests: 1 });
  });

  it('gets over a dead token with one issuance (service-api, Authentication rule 4)', async () => {
    const { client, running } = await start({}, version);
    const tokens = issuing(client);
    await client.send(NOTICE, tokens, WITHIN);
    running.revokeTokens();
    const answer = await client.send(NOTICE, tokens, WITHIN);
    expect(answer).toMatchObject({ status: 200, requests: 2, tokenId: 'issued-2' });
    expect(answer.refused).toMatchObject([{ tokenId: 'issued-1', status: 401 }]);
    expect(running.record()).toMatchObject({ contacts: 2 });
    expect(running.issuances()).toHaveLength(2);
  });
});

describe('errors of the issuance', () => {
  it.each<[string, EmulatorOptions, object]>([
    [
      '401 INVALID_ACCESS_KEY',
      { secretKey: 'another-secret' },
      { code: 'INVALID_ACCESS_KEY', status: 401 },
    ],
    [
      '403 ACCESS_KEY_NOT_APPROVED',
      { approved: false },
      { code: 'ACCESS_KEY_NOT_APPROVED', status: 403 },
    ],
    ['403 IP_NOT_ALLOWED', { allowlist: ['203.0.113.7'] }, { code: 'IP_NOT_ALLOWED', status: 403 }],
  ])('%s', async (_name, options, expected) => {
    const { client } = await start(options);
    await expect(client.issueToken()).rejects.toMatchObject(expected);
  });
});

describe('the life of a token', () => {
  it.each([
    ['none', undefined],
    ['answer', 60_000],
    ['jwt', 60_000],
  ] as const)('shown as %s', async (showExpiry, expected) => {
    const { client } = await start({ showExpiry, tokenLifetimeMs: 60_000 });
    const { expiresInMs } = await client.issueToken();
    const near = expiresInMs === undefined ? undefined : Math.round(expiresInMs / 5_000) * 5_000;
    expect(near).toBe(expected);
  });
});

describe('faults', () => {
  it('a reset after acting is unknown: it was taken', async () => {
    const { client, running } = await start();
    running.addFault({ on: 'send', times: 1, reset: 'after-acting' });
    const answer = await client.send(NOTICE, issuing(client), WITHIN);
    expect(decideOutcome(answer).kind).toBe('unknown');
    expect(running.record()).toMatchObject({ contacts: 1 });
  });

  it('no answer after acting is unknown: it was taken', async () => {
    const { client, running } = await start();
    running.addFault({ on: 'send', times: 1, hang: 'after-acting' });
    const answer = await client.send(NOTICE, issuing(client), { deadlineMs: 500 });
    expect(decideOutcome(answer)).toStrictEqual({ kind: 'unknown', code: 'DEADLINE' });
    expect(running.record()).toMatchObject({ contacts: 1 });
  });

  it.each([
    ['seconds', 5_000],
    ['date', 5_000],
  ] as const)('429 with Retry-After as %s holds', async (retryAfterAs, expected) => {
    const { client, running } = await start();
    running.addFault({ on: 'send', times: 1, status: 429, retryAfter: 5, retryAfterAs });
    const answer = await client.send(NOTICE, issuing(client), WITHIN);
    expect(answer.status).toBe(429);
    expect(Math.abs((answer.retryAfterMs ?? 0) - expected)).toBeLessThanOrEqual(1_000);
  });
});
