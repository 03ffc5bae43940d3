import { describe, expect, test } from 'vitest';
import { constantsIn } from '../../src/config/config.ts';

describe.each([50, 1_000, 10_000, 60_000, 300_000])('ANSWER_TIMEOUT_MS %i', (answerMs) => {
  test('every time fits into those around it', () => {
    const { service, token, worker } = constantsIn({}, answerMs);
    expect(service.sendDeadlineMs).toBeGreaterThan(service.connectTimeoutMs + answerMs);
    expect(service.sendDeadlineMs).toBeGreaterThanOrEqual(service.issueDeadlineMs);
    expect(0.7 * token.lockTtlMs).toBeGreaterThanOrEqual(service.issueDeadlineMs);
    expect(worker.lockDurationMs).toBeGreaterThan(2 * service.sendDeadlineMs);
    expect(worker.shutdownTimeoutMs).toBeGreaterThan(service.sendDeadlineMs);
  });
});
