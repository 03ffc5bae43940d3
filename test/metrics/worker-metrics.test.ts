import { describe, expect, it } from 'vitest';
import { HOLDS } from '../../src/contracts/hold.ts';
import { OUTCOME_KINDS, LANES } from '../../src/contracts/outcome.ts';
import { ERROR_CODES } from '../../src/contracts/errors.ts';
import {
  CODE_LABELS,
  codeLabel,
  OTHER,
  REDIS_CODE_LABELS,
  redisCodeLabel,
  CODED_OUTCOMES,
  WORKER_METRICS,
} from '../../src/metrics/worker-table.ts';
import { WorkerMetrics } from '../../src/metrics/worker-metrics.ts';
import { metricsLike, readExposition } from './exposition.ts';

describe('the label of a code', () => {
  it.each([
    ['INVALID_ACCESS_KEY', 'INVALID_ACCESS_KEY'],
    ['HTTP_503', 'HTTP_503'],
    ['HTTP_599', 'HTTP_5XX'],
    ['HTTP_418', 'HTTP_4XX'],
    ['HTTP_302', 'HTTP_3XX'],
    ['HTTP_999', OTHER],
    ['ECONNRESET', 'ECONNRESET'],
    ['TEMPLATE_FOR_01012345678', OTHER],
    ['', OTHER],
    ['constructor', OTHER],
  ])('of %s is %s', (code, label) => {
    expect(codeLabel(code)).toBe(label);
    expect(CODE_LABELS).toContain(label);
  });

  it('knows every code of ours', () => {
    for (const code of Object.keys(ERROR_CODES)) expect(codeLabel(code)).toBe(code);
  });

  it.each([
    ['OOM', 'OOM'],
    ['ECONNREFUSED', 'ECONNREFUSED'],
    ['a value', OTHER],
  ])('of the Redis word %s is %s', (word, label) => {
    expect(redisCodeLabel(word)).toBe(label);
    expect(REDIS_CODE_LABELS).toContain(label);
  });
});

describe('the metrics of a worker', () => {
  const accepted = { lane: 'notices', outcome: 'accepted', contacts: 3, requests: 1 } as const;

  it('count attempts, contacts, requests, codes and durations', async () => {
    const metrics = new WorkerMetrics();
    metrics.attempt({ ...accepted, answerMs: 40, waitedMs: 1_200 });
    metrics.attempt({ ...accepted, lane: 'chunks', contacts: 500, requests: 2 });
    metrics.attempt({
      lane: 'notices',
      outcome: 'hold',
      hold: 'throttled',
      code: 'HTTP_429',
      contacts: 1,
      requests: 1,
    });
    metrics.tokenWait(3);
    metrics.tokenEvent({ kind: 'issued', id: 'x', fence: 1, ms: 5, early: false, stored: true });
    metrics.tokenEvent({ kind: 'contested', retryInMs: 5 });
    metrics.redisError('ECONNREFUSED');
    metrics.watch({ inFlight: () => 7, slots: 40, ready: () => true });

    const { value } = readExposition(await metrics.text());
    const notices = { lane: 'notices', outcome: 'accepted' };
    expect(value('notices_attempts_total', notices)).toBe(1);
    expect(value('notices_contacts_total', notices)).toBe(3);
    expect(value('notices_contacts_total', { lane: 'chunks', outcome: 'accepted' })).toBe(500);
    expect(value('notices_requests_total', { lane: 'chunks' })).toBe(2);
    expect(value('notices_attempt_codes_total', { outcome: 'hold', code: 'HTTP_429' })).toBe(1);
    expect(value('notices_answer_seconds_count', { lane: 'notices' })).toBe(1);
    expect(value('notices_answer_seconds_bucket', { lane: 'notices', le: '0.035' })).toBe(0);
    expect(value('notices_answer_seconds_bucket', { lane: 'notices', le: '0.05' })).toBe(1);
    expect(value('notices_queue_wait_seconds_sum', { lane: 'notices' })).toBe(1.2);
    expect(value('notices_token_wait_seconds_count')).toBe(1);
    expect(value('notices_token_issuances_total')).toBe(1);
    expect(value('notices_token_refusals_total', { hold: 'token-contested' })).toBe(1);
    expect(value('notices_redis_errors_total', { code: 'ECONNREFUSED' })).toBe(1);
    expect(value('notices_jobs_in_flight')).toBe(7);
    expect(value('notices_job_slots')).toBe(40);
    expect(value('notices_worker_ready')).toBe(1);
    expect(value('notices_worker_info', { node: process.version })).toBe(1);
  });

  it('begin at zero, so that the first event is an increase', async () => {
    const { value } = readExposition(await new WorkerMetrics().text());
    for (const lane of LANES) {
      for (const outcome of OUTCOME_KINDS) {
        expect(value('notices_attempts_total', { lane, outcome })).toBe(0);
      }
    }
    expect(value('notices_worker_ready')).toBe(0);
  });

  it('have the labels of their rows, with no value beyond the closed sets', async () => {
    const metrics = new WorkerMetrics();
    for (const lane of LANES) {
      for (const outcome of OUTCOME_KINDS) {
        const code = `${outcome} for 01012345678`;
        const coded = (CODED_OUTCOMES as readonly string[]).includes(outcome) ? { code } : {};
        const sent = { contacts: 1, requests: 1, answerMs: 1, waitedMs: 1 };
        metrics.attempt({ lane, outcome, ...coded, ...sent });
      }
    }
    for (const hold of ['credentials', 'token-contested', 'token-unavailable'] as const) {
      metrics.tokenEvent({ kind: 'refused', hold, code: 'TOKEN_UNAVAILABLE', retryInMs: 1 });
    }
    metrics.redisError('a word');
    const names = metricsLike(WORKER_METRICS, await metrics.text());
    expect(names).toEqual(Object.keys(WORKER_METRICS).sort());
  });
});

it('every hold that a token can bring on is a hold', () => {
  for (const hold of WORKER_METRICS.notices_token_refusals_total.labels.hold) {
    expect(Object.keys(HOLDS)).toContain(hold);
  }
});
