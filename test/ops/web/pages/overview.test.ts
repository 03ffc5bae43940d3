import { expect, it } from 'vitest';
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
  someMinute,
  someStatus,
  someTraffic,
  someWorker,
  unsuitable,
} from './snapshots.ts';

const { jobs } = someStatus();
/** What the overview says, its blanks as one each. */
const draw = (
  status: Partial<Status>,
  traffic: OverviewData['traffic'] = someTraffic(),
  role: 'viewer' | 'operator' = 'operator',
) =>
  overviewPage({ status: someStatus(status), traffic }, viewOf(role)).text.replaceAll(/\s+/g, ' ');
const holdOf = (kind: HoldKind, code = 'CODE') =>
  explainHold({ kind, code, since: NOW - 120_000, nextProbeAt: NOW + 30_000, failedProbes: 0 });

it.each(Object.keys(HOLDS) as HoldKind[])('the queue is held: %s', (kind) => {
  const text = draw({ hold: holdOf(kind) });
  const isThrottled = kind === 'throttled';
  const { fault, remedy, command } = HOLDS[kind];
  // What is escaped in between aside, the words are those of the table.
  const words = isThrottled
    ? ['<h2>Paused', 'class="card state warn"', 'Nothing to do']
    : [
        `<h2>Held: ${kind}</h2>`,
        'class="card state bad"',
        remedy.split('"')[0],
        `<code>${command}</code>`,
      ];
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

it('what needs attention is named: unknown outcomes and failed notices, lists, imports, Redis', () => {
  const attention = (status: Partial<Status>) =>
    /id="attention".*?<\/section>/.exec(draw(status))?.[0];
  expect(attention({})).toBeUndefined();
  const june = { id: 'june', phase: 'importing', total: 500, pending: 0, stalled: false } as const;
  const continueImport = 'notices import FILE --template T --batch may';
  const text = attention({
    jobs: { ...jobs, failed: 3 },
    unknown: { notices: 2, contacts: 30 },
    redis: unsuitable('warn'),
    batches: someBatches({
      rejected: 1,
      refused: [{ id: 'april', total: 1_500, rejected: 1, code: 'INVALID', movedAt: NOW }],
      openBatches: [
        { ...june, id: 'may', continueImport },
        { ...june, id: 'july', phase: 'paused', paused: { who: 'kim', at: NOW, why: EVIL } },
        june,
      ],
    }),
  });
  for (const words of [
    'href="/notices">2 single notices and 30 contacts of lists</a>',
    'href="/notices">3 single notices</a> failed',
    'april</a>: 1 of 1,500 contacts rejected, <code>INVALID</code>',
    'href="/batches/may">may</a> stopped after 500 contacts',
    '<code>notices import FILE --template T --batch may</code>',
    'july</a> was paused by kim ',
    'Redis would evict notices; fix it',
  ]) {
    expect(text).toContain(words);
  }
  expect(text).not.toContain('june');
  const unknown = { notices: 2, contacts: 0 };
  expect(attention({ jobs, unknown })).not.toContain('failed');
});

it('the figures show what waits, was sent, limits, and works; of the token never its value', () => {
  const total = noTraffic();
  total.notices = { requests: 12, accepted: 12 };
  total.chunks = { requests: 50, accepted: 5_000 };
  const minutes = [1_000, 239, 5].map((accepted) => someMinute({ accepted }));
  const fall = { at: NOW - 60_000, from: 50, to: 25, risesFrom: NOW, recoveryMs: 60_000 };
  const issued = { issuedAt: NOW - 60_000, ageMs: 60_000, expiresAt: NOW + 3_600_000 };
  const status: Partial<Status> = {
    jobs: { waiting: 1_234, active: 5, delayed: 6, done: 0, failed: 7 },
    oldestWaitingMs: 90_000,
    batches: someBatches({ pending: 4_321 }),
    unknown: { notices: 2, contacts: 3 },
    possiblySentTwice: { notices: 1, chunks: 2 },
    rateLimit: { configured: 50, manual: 40, fall, now: 27.5, lowUntil: NOW + 180_000 },
    workers: [
      someWorker({ sent: { requests: 10, contacts: 150, forMs: 5_000 }, loopDelayMs: 1_000 }),
      someWorker({ sent: { requests: 5, contacts: 8, forMs: 10_000 } }),
      someWorker({ pid: 99, unready: [{ reason: 'no token', since: NOW - 5_000 }] }),
    ],
    token: {
      token: { id: 'abcdef0123456789', ...issued, fence: 3, issuer: 'host-1' },
      issuing: false,
      issuances: 2,
      refusal: { hold: 'credentials', code: 'INVALID_ACCESS_KEY', until: NOW + 1_000 },
    },
  };
  const text = draw(status, someTraffic({ total, minutes }));
  for (const words of [
    '<dd><a href="/waiting">1,234</a></dd>',
    'the oldest for 90 s',
    'href="/batches">4,321<',
    'href="/notices">5<',
    '<dt>contacts per second</dt> <dd>31</dd>',
    '5,012 contacts accepted with 62 requests.',
    '1,000 at most, 239 in the last one',
    'At most 3 contacts possibly sent twice',
    '<strong>28</strong>',
    '50 requests per second',
    '40 requests per second',
    'from 50 to 25',
    'in 3 min',
    'was blocked for',
    /99 is not ready: no token, since <time[^>]+>5 s ago/,
    'abcdef0123456789',
    '60 s ago',
    'in 60 min',
    'INVALID_ACCESS_KEY',
  ]) {
    expect(text).toMatch(words);
  }
  const idle = draw({});
  expect(idle).not.toMatch(/possibly sent twice|<svg/);
  expect(idle).toMatch(/No limit is set\..* action="\/api\/v1\/rate-limit".* name="rateLimit"/);
  expect(idle).toContain('no worker runs');
  const first = draw({
    rateLimit: { configured: 50, manual: 0 },
    token: { issuing: true, issuances: 0 },
  });
  expect(first).toMatch(/<dd> ?no limit.*<dd> ?no limit/);
  expect(first).toContain('being issued');
});

it('a viewer sees the same, and no form', () => {
  for (const status of [{}, { hold: holdOf('manual') }]) {
    expect(draw(status)).toContain('<form');
    const seen = draw(status, someTraffic(), 'viewer');
    expect(seen).not.toMatch(/<form|<button|<details|csrf-token/);
  }
});

it('what comes from elsewhere is text', () => {
  const unready = [{ reason: EVIL, since: 0 }];
  const workers = [someWorker({ host: EVIL, version: EVIL, unready })];
  const text = draw({ hold: holdOf('manual', EVIL), workers });
  expect(text).not.toMatch(/<script>|<img/);
  expect(text.match(/&lt;script&gt;/g)).toHaveLength(4);
});
