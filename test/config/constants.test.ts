import { describe, expect, test } from 'vitest';
import { constantsIn } from '../../src/config/config.ts';

describe.each([50, 1_000, 10_000, 60_000, 300_000])('ANSWER_TIMEOUT_MS %i', (answerMs) => {
  test('every time fits into those around it', () => {
    const of = constantsIn({}, answerMs);
    expect(of.SEND_DEADLINE_MS).toBeGreaterThan(of.CONNECT_TIMEOUT_MS + answerMs);
    expect(of.SEND_DEADLINE_MS).toBeGreaterThanOrEqual(of.ISSUE_DEADLINE_MS);
    expect(0.7 * of.TOKEN_LOCK_TTL_MS).toBeGreaterThanOrEqual(of.ISSUE_DEADLINE_MS);
    expect(of.LOCK_DURATION_MS).toBeGreaterThan(2 * of.SEND_DEADLINE_MS);
    expect(of.SHUTDOWN_TIMEOUT_MS).toBeGreaterThan(of.SEND_DEADLINE_MS);
  });
});
