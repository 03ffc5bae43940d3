import {
  noTraffic,
  type LaneCounts,
  type Traffic,
  type TrafficMinute,
} from '../../../../src/traffic/traffic.ts';
import type { Role } from '../../../../src/ops/web/access/identity.ts';
import type { Status } from '../../../../src/ops/status.ts';
import { headlineOf } from '../../../../src/ops/answers/headline.ts';
import type { PageView } from '../../../../src/ops/web/pages/elements.ts';

/** The time at which pages are made. */
export const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);

/** Markup that must never reach a page unescaped. */
export const EVIL = `"><script>alert('1')</script><img src=x onerror=alert(1)>`;

/** A viewer of pages. */
export function viewOf(role: Role): PageView {
  const who = { name: role, role, by: 'session', until: NOW, seed: 'seed' } as const;
  return { who, csrf: 'csrf-token', url: '/here', now: NOW };
}

type Worker = Status['workers'][number];

/** A worker that is ready. */
export function someWorker(some: Partial<Worker> = {}): Worker {
  return {
    id: 'host-1-abc',
    host: 'host-1',
    pid: 4_711,
    version: '1.2.3',
    pair: 'pair',
    active: 0,
    concurrency: 8,
    startedAt: NOW - 3_600_000,
    loopDelayMs: 12,
    ageMs: 400,
    ...some,
  };
}

/** Batches of which nothing is left. */
export function someBatches(some: Partial<Status['batches']> = {}): Status['batches'] {
  const open = some.openBatches?.length ?? 0;
  return { pending: 0, open, openBatches: [], rejected: 0, refused: [], unknown: 0, ...some };
}

/** A queue that is idle, with one worker. */
export function someStatus(some: Partial<Status> = {}): Status {
  const facts = {
    now: NOW,
    templateHolds: [],
    sendWindows: '',
    account: 'default',
    prefix: 'notices',
    jobs: { waiting: 0, active: 0, delayed: 0, done: 0, failed: 0 },
    possiblySentTwice: { notices: 0, chunks: 0 },
    batches: someBatches(),
    unknown: { notices: 0, contacts: 0 },
    workers: [someWorker()],
    differing: [],
    redis: {
      version: '7.4.0',
      address: 'redis:6379',
      policy: 'noeviction',
      persistence: 'aof',
      saveFailed: false,
      usedBytes: 50 * 1_048_576,
      maxBytes: 200 * 1_048_576,
      machineBytes: 8_192 * 1_048_576,
      role: 'master',
      findings: [],
    },
    ...some,
  } satisfies Omit<Status, 'headline'>;
  return { headline: headlineOf(facts), ...facts };
}

/** A minute with some counts of single notices. */
export function someMinute(some: Partial<LaneCounts> = {}): TrafficMinute {
  const none = noTraffic();
  return { at: NOW, ...none, notices: { ...none.notices, ...some } };
}

/** A traffic record without traffic. */
export function someTraffic(some: Partial<Traffic> = {}): Traffic {
  return { at: NOW, minutes: [someMinute()], total: noTraffic(), ...some };
}

/** A Redis with something to say about it. */
export function unsuitable(severity: 'refuse' | 'warn'): Status['redis'] {
  const words = 'Redis would evict notices';
  const finding = { code: 'evicts', severity, words, remedy: 'fix it' } as const;
  return { ...someStatus().redis, findings: [finding] };
}
