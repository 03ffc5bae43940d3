import { onTestFinished } from 'vitest';
import type { ServiceConfig } from '../../../src/config/config.ts';
import type { Notice } from '../../../src/contracts/notice.ts';
import type { Token, TokenSource } from '../../../src/contracts/token.ts';
import { ServiceClient } from '../../../src/service/client.ts';

/** Values that must never be found in an error or an answer. */
export const CANARY = {
  accessKey: 'canary-access-key',
  secretKey: 'canary-secret-key',
  token: 'canary.token-of-the.account',
  renewed: 'canary.renewed-token.account',
  phone: '01098765432',
} as const;

/** Opens a client whose limits are short enough for a test, which the end of the test closes. */
export function openClient(baseUrl: string, overrides: Partial<ServiceConfig> = {}): ServiceClient {
  const client = new ServiceClient({
    baseUrl,
    accessKey: CANARY.accessKey,
    secretKey: CANARY.secretKey,
    apiVersion: 'v2',
    tokenPath: '/api/v2/token',
    sendPath: '/api/v2/notices/send',
    chatSenderKeyField: 'chatSenderKey',
    connectTimeoutMs: 500,
    answerTimeoutMs: 5_000,
    sendDeadlineMs: 15_000,
    issueDeadlineMs: 5_000,
    notSentRetries: 0,
    acceptedTraceIds: true,
    connections: 8,
    ...overrides,
  });
  onTestFinished(() => client.close());
  return client;
}

export const FIRST: Token = { id: 'token-id-1', value: CANARY.token };
export const SECOND: Token = { id: 'token-id-2', value: CANARY.renewed };

/** A token source that remembers what it was asked for. */
export interface TestTokens extends TokenSource {
  readonly renewals: { id: string; status: number }[];
}

/** Answers `first`, and `next` once that was refused. */
export function tokensOf(first: Token = FIRST, next: Token = SECOND): TestTokens {
  const renewals: { id: string; status: number }[] = [];
  return {
    renewals,
    get: () => Promise.resolve(first),
    renew: (refused, { status }) => {
      renewals.push({ id: refused.id, status });
      return Promise.resolve(next);
    },
  };
}

export const NOTICE: Notice = {
  templateCode: 'ORDER_SHIPPED',
  scheduleType: 'DIRECTLY',
  contacts: [{ contact: CANARY.phone, var1: 'a value' }],
};
