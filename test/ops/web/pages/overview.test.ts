import { describe, expect, it } from 'vitest';
import { HOLDS, isProbed, type HoldKind } from '../../../../src/contracts/hold.ts';
import { explainHold } from '../../../../src/ops/answers/account-schemas.ts';
import type { Status } from '../../../../src/ops/status.ts';
import { noTraffic } from '../../../../src/traffic/traffic.ts';
import { overviewPage, type OverviewData } from '../../../../src/ops/web/pages/overview.ts';
import {
  EVIL,
  viewOf,
  NOW,
  someBatches,
  someOverview,
  someMinute,
  someStatus,
  someTraffic,
  someWorker,
} from './snapshots.ts';

const jobs = { waiting: 0, active: 0, delayed: 0, done: 0, failed: 0 };
const draw = (sight: Partial<OverviewData>, role: 'viewer' | 'operator' = 'operator') =>
  overviewPage(someOverview(sight), viewOf(role)).text;
const holdOf = (kind: HoldKind, code = 'CODE') =>
  explainHold({ kind, code, since: NOW - 120_000, nextProbeAt: NOW + 30_000, failedProbes: 0 });

const redisThat = (severity: 'refuse' | 'warn') => ({
  ...someStatus().redis,
  findings: [
    { code: 'evicts', severity, words: 'Redis would evict notices', remedy: 'fix it' } as const,
  ],
});

it.each<[string, string, Partial<Status>]>([
  ['Waiting', 'warn', { batches: someBatches({ pending: 10 }) }],
  ['No worker', 'bad', { workers: [], jobs: { ...jobs, waiting: 1 } }],
  ['Redis is unsuitable', 'bad', { redis: redisThat('refuse') }],
  [
    'No worker is ready',
    'bad',
    { workers: [someWorker({ unready: [{ reason: 'x', since: NOW }] })] },
  ],
])('the queue stands: %s (%s)', (title, tone, status) => {
  const text = draw({ status: someStatus(status) });
  expect(text).toContain(`<h2>${title}</h2>`);
  expect(text).toContain(`class="card state ${tone}"`);
});

it.each(Object.keys(HOLDS) as HoldKind[])('the queue is held: %s', (kind) => {
  const text = draw({ status: someStatus({ hold: holdOf(kind) }) });
  const isThrottled = kind === 'throttled';
  const { fault, remedy, command } = HOLDS[kind];
  // What is escaped in between aside, the words are those of the table.
  const words = isThrottled
    ? ['<h2>Paused', 'state warn', 'Nothing to do']
    : [`<h2>Held: ${kind}</h2>`, 'state bad', remedy.split('"')[0], `<code>${command}</code>`];
  for (const one of [
    ...words,
    fault,
    `href="/help#${kind}"`,
    '2 min ago',
    'action="/api/v1/hold/lift"',
    `name="kind" value="${kind}"`,
  ]) {
    expect(text).toContain(one);
  }
  expect(text.includes('Next probe')).toBe(isProbed(kind) && !isThrottled);
  expect(text).not.toContain('/api/v1/hold/place');
  expect(text.includes('comes back by itself')).toBe(isProbed(kind));
});

describe('what needs attention', () => {
  const attention = (status: Partial<Status>) =>
    /id="attention"[^]*?<\/section>/.exec(draw({ status: someStatus(status) }))?.[0];

  it('names unknown outcomes, and failed notices without them', () => {
    expect(attention({})).toBeUndefined();
    const text = attention({ jobs: { ...jobs, failed: 5 }, unknown: { notices: 2, contacts: 30 } });
    expect(text).toMatch(/href="\/notices">2 single notices and 30 contacts of lists<\/a>/);
    expect(text).toContain('href="/notices">3 single notices</a> failed');
    const unknown = { notices: 2, contacts: 0 };
    expect(attention({ jobs: { ...jobs, failed: 2 }, unknown })).not.toContain('failed');
  });

  it('names rejected contacts, stopped imports, and what is wrong with Redis', () => {
    const stopped = {
      id: 'may',
      phase: 'importing',
      total: 500,
      pending: 0,
      stalled: false,
      importStopped: true,
      continueImport: 'notices import FILE --template T --batch may',
    } as const;
    const text = attention({
      redis: redisThat('warn'),
      batches: someBatches({
        rejected: 1,
        refused: [{ id: 'april', total: 1_500, rejected: 1, code: 'INVALID', movedAt: NOW }],
        openBatches: [
          stopped,
          { ...stopped, id: 'june', importStopped: false, continueImport: 'none' },
        ],
      }),
    });
    expect(text).toMatch(/april<\/a>: 1 of\s+1,500 contacts rejected, <code>INVALID<\/code>/);
    expect(text).toMatch(/href="\/batches\/may">may<\/a> stopped after\s+500 contacts/);
    expect(text).toContain('<code>notices import FILE --template T --batch may</code>');
    expect(text).toContain('Redis would evict notices; fix it');
    expect(text).not.toContain('june');
  });
});

describe('the figures', () => {
  it('of what waits, and for how long', () => {
    const status = someStatus({
      jobs: { waiting: 1_234, active: 5, delayed: 6, done: 0, failed: 7 },
      oldestWaitingMs: 90_000,
      batches: someBatches({ pending: 4_321 }),
      unknown: { notices: 2, contacts: 3 },
    });
    const text = draw({ status });
    expect(text).toContain('<dd>1,234</dd>');
    expect(text).toContain('the oldest for 90 s');
    expect(text).toContain('href="/batches">4,321<');
    expect(text).toContain('href="/notices">5<');
  });

  it('of what was sent: the rate of all workers, and the last hour in minutes', () => {
    const total = noTraffic();
    total.notices = { requests: 12, accepted: 12 };
    total.chunks = { requests: 50, accepted: 5_000 };
    const workers = [
      someWorker({ sent: { requests: 10, contacts: 150, forMs: 5_000 } }),
      someWorker({ sent: { requests: 5, contacts: 8, forMs: 10_000 } }),
      someWorker(),
    ];
    const minutes = [1_000, 239, 5].map((accepted) => someMinute({ accepted }));
    const status = someStatus({ workers, possiblySentTwice: { notices: 1, chunks: 2 } });
    const text = draw({ traffic: someTraffic({ total, minutes }), status }).replaceAll(/\s+/g, ' ');
    expect(text).toMatch(/<dt>contacts per second<\/dt> <dd>31<\/dd>/);
    expect(text).toContain('5,012 contacts accepted with 62 requests.');
    expect(text).toContain('1,000 at most, 239 in the last one');
    expect(text).toContain('At most 3 contacts possibly sent twice');
    expect(text).toContain('<h2>Sending</h2> <p>31 contacts per second are being sent.');
    expect(draw({})).not.toContain('possibly sent twice');
    expect(draw({})).not.toContain('<svg');
  });

  it('of the rate limit', () => {
    expect(draw({})).toContain('No limit is set.');
    expect(draw({})).toMatch(/action="\/api\/v1\/rate-limit"[\s\S]* name="rateLimit"/);
    const fall = { at: NOW - 60_000, from: 50, to: 25, risesFrom: NOW, recoveryMs: 60_000 };
    const rateLimit = { configured: 50, manual: 40, fall, now: 27.5, lowUntil: NOW + 180_000 };
    const text = draw({ status: someStatus({ rateLimit }) });
    for (const words of [
      '<strong>28</strong>',
      '50 requests per second',
      '40 requests per second',
      'from 50 to 25',
    ]) {
      expect(text).toContain(words);
    }
    expect(text).toContain('in 3 min');
    const off = draw({ status: someStatus({ rateLimit: { configured: 50, manual: 0 } }) });
    expect(off.match(/<dd>\s*no limit/g)).toHaveLength(2);
  });

  it('of workers, the slow and the unready marked', () => {
    const workers = [
      someWorker({ loopDelayMs: 1_000 }),
      someWorker({ pid: 99, unready: [{ reason: 'no token', since: NOW - 5_000 }] }),
    ];
    const text = draw({ status: someStatus({ workers }) });
    expect(text).toContain('was blocked for');
    expect(text).toMatch(/99 is not ready: no token, since\s+<time[^>]+>5 s ago/);
    expect(text).toContain('<h2>Idle</h2>');
  });

  it('of the token, never its value', () => {
    expect(draw({})).toContain('no worker runs');
    const token = {
      token: {
        id: 'abcdef0123456789',
        issuedAt: NOW - 60_000,
        ageMs: 60_000,
        expiresAt: NOW + 3_600_000,
        fence: 3,
        issuer: 'host-1',
      },
      issuing: false,
      issuances: 2,
      refusal: { hold: 'credentials', code: 'INVALID_ACCESS_KEY', until: NOW + 1_000 },
    } as const;
    const text = draw({ status: someStatus({ token }) });
    for (const words of ['abcdef0123456789', '60 s ago', 'in 60 min', 'INVALID_ACCESS_KEY']) {
      expect(text).toContain(words);
    }
    const first = { issuing: true, issuances: 0 };
    expect(draw({ status: someStatus({ token: first }) })).toContain('being issued');
  });
});

it('a viewer sees the same, and no form', () => {
  for (const hold of [undefined, holdOf('manual')]) {
    const status = someStatus(hold === undefined ? {} : { hold });
    expect(draw({ status }, 'operator')).toContain('<form');
    expect(draw({ status }, 'viewer')).not.toMatch(/<form|<button|<details|csrf-token/);
  }
});

it('what comes from elsewhere is text', () => {
  const hold = holdOf('manual', EVIL);
  const workers = [
    someWorker({ host: EVIL, version: EVIL, unready: [{ reason: EVIL, since: 0 }] }),
  ];
  const text = draw({ status: someStatus({ hold, workers }) });
  expect(text).not.toMatch(/<script>|<img/);
  expect(text.match(/&lt;script&gt;/g)).toHaveLength(4);
});
