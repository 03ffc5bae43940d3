import { z } from 'zod';
import { countOf, formatCount, formatDuration, formatSize, table } from '../../format/format.ts';
import { allClosed } from '../../contracts/send-windows.ts';
import { writeInstant, writeTime } from '../../format/time.ts';
import { statusAnswer } from '../answers/account-schemas.ts';
import { PERSISTENCE, SLOW_LOOP_MS, unreadyWords } from '../answers/headline.ts';
import { describePause } from '../batch-words.ts';
import { appendAudit, auditEntry, readAudit } from '../audit.ts';
import { describeEvent } from '../../events/describe.ts';
import { givenCursor, type AccountEvent } from '../../events/event.ts';
import { time, type Answer } from '../../contracts/answer.ts';
import type { Status } from '../status.ts';
import { whole } from './fields.ts';
import { describeHold, describeRateLimit, describeTemplateHold } from './hold.ts';
import { operation } from './operation.ts';

export const status = operation({
  name: 'status',
  summary: 'What waits and why, what failed or is unknown, the hold, workers and Redis.',
  answers: 'The status.',
  needs: 'viewer',
  path: '/api/v1/status',
  input: z.object({}),
  output: statusAnswer,
  run: (context) => context.status(),
  text: describeStatus,
});

export const audit = operation({
  name: 'audit',
  help: { group: 'Account', example: 'notices audit --limit 20' },
  summary:
    'Manual changes, sends, imports, downloads and searches, and decisions of rules, newest first.',
  answers: 'The latest entries; only operators see digits of reasons that could be a phone number.',
  needs: 'viewer',
  path: '/api/v1/audit',
  input: z.object({ limit: whole(1, 20_000).default(100).describe('most entries') }),
  output: z.object({ entries: z.array(auditEntry) }),
  run: async ({ redis, keys }, { limit }, { role }) => ({
    entries: await readAudit(redis, keys, limit, role),
  }),
  text: ({ entries }) =>
    entries.length === 0
      ? ['No manual actions are recorded.']
      : table([
          ['AT', 'WHO', 'WHAT', 'TARGET', 'AS', 'CONTACTS', 'WHY'],
          ...entries.map(({ at, who, what, target, as, contacts, why }) => [
            writeInstant(at),
            who,
            what,
            target,
            as,
            String(contacts ?? ''),
            why,
          ]),
        ]),
});

/** An event as a row of a table. */
export const eventRow = (event: AccountEvent): string[] => [
  writeInstant(event.at),
  event.event,
  describeEvent(event).title,
  event.cursor,
];

export const listEvents = operation({
  name: 'events list',
  summary: 'The events of the account, oldest first.',
  answers: 'A page; the cursor of its last event is `from` of the next one.',
  needs: 'viewer',
  path: '/api/v1/account-events',
  input: z.object({
    from: givenCursor.default('0').describe('only events after this one'),
    limit: whole(1, 10_000).default(100).describe('most events'),
  }),
  output: z.object({
    events: z
      .array(z.looseObject({ cursor: z.string(), at: time, event: z.string() }))
      .describe('with the fields of their kind (docs/events.md)'),
  }),
  run: async ({ redis, keys }, { from, limit }) => {
    const { readAccountEvents } = await import('../../events/follow.ts');
    const { events } = await readAccountEvents(redis, keys, from, limit);
    return { events: events.map((event) => ({ ...event })) };
  },
  text: ({ events }) =>
    events.length === 0
      ? ['No event is kept.']
      : table([
          ['AT', 'EVENT', 'WHAT', 'CURSOR'],
          ...events.map((event) => eventRow(event as unknown as AccountEvent)),
        ]),
});

export const replayEvents = operation({
  name: 'events replay',
  summary: 'Posts the events after a cursor to the webhook again; 0 for all that are kept.',
  answers: 'Whether a process posts them.',
  needs: 'operator',
  why: 'may',
  path: '/api/v1/account-events/replay',
  args: ['cursor'],
  input: z.object({
    cursor: givenCursor.describe('cursor of an event, as "notices events" shows it'),
  }),
  output: z.object({
    cursor: z.string(),
    posting: z.boolean().describe('false where no running process has a webhook'),
  }),
  run: async (context, { cursor: from }, call) => {
    const { postAgain } = await import('../../events/watch.ts');
    const posting = await postAgain(context.redis, context.keys, from);
    await appendAudit(context, call, { what: 'events', target: 'events', as: 'posted again' });
    return { cursor: from, posting };
  },
  text: ({ cursor: from, posting }) => [
    posting
      ? `The events after ${from} are posted again, in their order.`
      : `The events after ${from} will be posted again when a worker or ops server with EVENT_WEBHOOK_URL runs; none does.`,
  ],
});

function describeStatus(status: Answer<Status>, now: number): string[] {
  const { jobs, workers, redis, batches } = status;
  const { open, pending, rejected } = batches;
  const oldest =
    status.oldestWaitingMs === undefined
      ? ''
      : `, ${writeTime(now - status.oldestWaitingMs, now, (span) => `the oldest for ${span}`)}`;
  return [
    ...describeHeadline(status.headline, now),
    ...table([
      ['account', `${status.account}, prefix ${status.prefix}, Redis at ${redis.address}`],
      ['waiting', `${jobs.waiting}${oldest}`],
      ['active', `${jobs.active}`],
      ['delayed', `${jobs.delayed}`],
      ['done', `${jobs.done} (within retention)`],
      ['failed', `${jobs.failed}`],
      [
        'batches',
        `${formatCount(open)} open, ${countOf(pending, 'contact')} pending${rejected === 0 ? '' : `; ${formatCount(rejected)} rejected`}`,
      ],
      ['unknown', describeUnknown(status.unknown)],
      ['sent twice', describeSentTwice(status)],
      ['hold', describeHold(status.hold, now)],
      ...status.templateHolds.map((held): [string, string] => [
        'template held',
        describeTemplateHold(held, now),
      ]),
      ...allClosed(status.sendWindows, status.now).map(({ pattern, closed }): [string, string] => [
        'sending hours',
        `${pattern} is waiting for ${closed.words}`,
      ]),
      ['rate limit', describeRateLimit(status.rateLimit, now)],
      ['token', describeToken(status, now)],
      ['workers', workers.length === 0 ? 'none: nothing is being sent' : `${workers.length}`],
      ['redis', describeRedis(redis)],
    ]),
    ...batches.openBatches.map(
      ({ id, pending: some, total, waits, continueImport, paused }) =>
        `  ${id}: ${formatCount(some)} of ${countOf(total, 'contact')} pending${whyOpen(waits, continueImport)}${paused === undefined ? '' : `; paused ${describePause(paused, now)}`}`,
    ),
    ...status.differing.map(
      ({ variable, groups }) =>
        `  workers differ in ${variable}: ${groups.map((group) => group.join(', ')).join(' | ')}`,
    ),
    ...redis.findings.map(
      ({ severity, words, remedy }) =>
        `  ${severity === 'refuse' ? 'workers refuse to send' : 'warning'}: ${words}; ${remedy}`,
    ),
    ...workers.map(({ host, pid, active, concurrency, ageMs, loopDelayMs, unready = [] }) => {
      const beat = writeTime(now - ageMs, now);
      const slow =
        loopDelayMs < SLOW_LOOP_MS ? '' : `, was blocked for ${formatDuration(loopDelayMs)}`;
      const reasons = unready.map(({ reason }) => unreadyWords(reason)).join(', ');
      return `  ${host} pid ${pid}: ${active} of ${concurrency} jobs, heartbeat ${beat}${slow}${reasons === '' ? '' : `, not ready: ${reasons}`}`;
    }),
  ];
}

function describeHeadline(
  { title, text, until, fault, command, section }: Status['headline'],
  now: number,
) {
  const end = until === undefined ? '' : `; resumes ${writeTime(until, now)}`;
  return [
    `${title}${end}. ${text}`,
    ...(fault === undefined ? [] : [`  whose fault: ${fault}`]),
    ...(command === undefined ? [] : [`  begin with: ${command}`]),
    ...(section === undefined ? [] : [`  read: docs/operating.md#${section}`]),
  ];
}

/** An import may have stopped while what it has stored is being sent. */
function whyOpen(waits: string | undefined, command: string | undefined): string {
  const reasons = waits === undefined ? [] : [waits];
  if (command !== undefined && waits?.includes(command) !== true) {
    reasons.push(`its import stopped: "${command}" continues it`);
  }
  return reasons.length === 0 ? '' : `: ${reasons.join('; ')}`;
}

function describeSentTwice({ possiblySentTwice: { notices, chunks } }: Status): string {
  if (notices + chunks === 0) return 'none';
  return `at most ${countOf(notices, 'contact')} of single notices, ${formatCount(chunks)} of batches`;
}

function describeUnknown({ notices, contacts }: Status['unknown']): string {
  if (notices + contacts === 0) return 'none';
  return `${countOf(notices, 'single notice')}, ${countOf(contacts, 'contact')} of batches: "notices failures --state unknown" lists them`;
}

function describeToken({ token }: Status, now: number): string {
  if (token === undefined) return 'not shown: no worker runs';
  if (token.refusal !== undefined) return `issuance refused: ${token.refusal.code}`;
  if (token.token === undefined) return token.issuing ? 'being issued' : 'none yet';
  const { id, ageMs } = token.token;
  return `${id}, issued ${writeTime(now - ageMs, now)}, ${token.issuances} issued recently`;
}

function describeRedis({
  version,
  policy,
  persistence,
  usedBytes,
  maxBytes,
}: Status['redis']): string {
  return [
    version,
    policy === '' ? 'eviction policy unknown' : policy,
    PERSISTENCE[persistence],
    formatSize(usedBytes) + (maxBytes > 0 ? ` of ${formatSize(maxBytes)}` : ''),
  ].join(', ');
}
