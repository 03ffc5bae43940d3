import { Command } from 'commander';
import type { Status } from '../../ops/status.ts';
import { unreadyWords } from '../../ops/answers/unready-words.ts';
import { describeHold, describeTemplateHold } from '../../ops/operations/hold.ts';
import { describeRateLimit } from '../../ops/operations/rate-limit.ts';
import { countOf, formatCount, formatDuration, formatSize, table } from '../../format/format.ts';
import { writeTime } from '../../format/time.ts';
import { allClosed } from '../../contracts/send-windows.ts';
import type { CommandContext } from '../command-context.ts';
import { readConfig } from '../open-queue.ts';
import { print } from '../output.ts';

/** `notices status`: needs no credentials; shows the token only when they are set. */
export function statusCommand(context: CommandContext): Command {
  return new Command('status')
    .option('--worker <host>', 'exit with 1 unless a worker runs on that host (a health check)')
    .action(async ({ worker }: { worker?: string }, command: Command) => {
      const config = await readConfig(context);
      // Imported here: an invalid configuration is reported without it, and sooner.
      const { readStatus } = await import('../../ops/status.ts');
      const status = await readStatus({
        redis: config.redis,
        account: config.account,
        rateLimit: config.worker.rateLimit.limit,
        redisRules: config.redisWatch,
      });
      print(context, command, status, () => describe(status));
      if (worker !== undefined && !status.workers.some(({ host }) => host === worker))
        context.end(1);
    });
}

function describe(status: Status): string[] {
  const { jobs, workers, redis, batches } = status;
  const now = Date.now();
  const oldest =
    status.oldestWaitingMs === undefined
      ? ''
      : `, ${writeTime(now - status.oldestWaitingMs, now, (span) => `the oldest for ${span}`)}`;
  return [
    ...describeHeadline(status.headline),
    ...table([
      ['account', `${status.account}, prefix ${status.prefix}, Redis at ${redis.address}`],
      ['waiting', `${jobs.waiting}${oldest}`],
      ['active', `${jobs.active}`],
      ['delayed', `${jobs.delayed}`],
      ['done', `${jobs.done} (within retention)`],
      ['failed', `${jobs.failed}`],
      ['batches', describeBatches(batches)],
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
      ({ id, pending, total, waits, continueImport }) =>
        `  ${id}: ${formatCount(pending)} of ${countOf(total, 'contact')} pending${whyOpen(waits, continueImport)}`,
    ),
    ...status.differing.map(
      ({ variable, groups }) =>
        `  workers differ in ${variable}: ${groups.map((group) => group.join(', ')).join(' | ')}`,
    ),
    ...redis.findings.map(
      ({ severity, words, remedy }) =>
        `  ${severity === 'refuse' ? 'workers refuse to send' : 'warning'}: ${words}; ${remedy}`,
    ),
    ...workers.map(
      ({ host, pid, active, concurrency, ageMs, loopDelayMs, unready }) =>
        `  ${host} pid ${pid}: ${active} of ${concurrency} jobs, heartbeat ${writeTime(now - ageMs, now)}${slowLoop(loopDelayMs)}${unreadyReasons(unready)}`,
    ),
  ];
}

function describeHeadline({ title, text, until, fault, command, section }: Status['headline']) {
  const end = until === undefined ? '' : `; resumes ${writeTime(until, Date.now())}`;
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

function describeBatches({ open, pending, rejected }: Status['batches']): string {
  const failed = rejected === 0 ? '' : `; ${formatCount(rejected)} rejected`;
  return `${formatCount(open)} open, ${countOf(pending, 'contact')} pending${failed}`;
}

function describeUnknown({ notices, contacts }: Status['unknown']): string {
  if (notices + contacts === 0) return 'none';
  return `${countOf(notices, 'single notice')}, ${countOf(contacts, 'contact')} of batches: "notices unknown" lists them`;
}

function describeToken({ token }: Status, now: number): string {
  if (token === undefined) return 'not shown: set BASE_URL, ACCESS_KEY and SECRET_KEY';
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
  const kept = {
    aof: 'append-only file',
    rdb: 'snapshots only',
    none: 'nothing on disk',
    unknown: 'persistence unknown',
  };
  return [
    version,
    policy === '' ? 'eviction policy unknown' : policy,
    kept[persistence],
    formatSize(usedBytes) + (maxBytes > 0 ? ` of ${formatSize(maxBytes)}` : ''),
  ].join(', ');
}

function unreadyReasons(unready: Status['workers'][number]['unready']): string {
  if (unready === undefined || unready.length === 0) return '';
  return `, not ready: ${unready.map(({ reason }) => unreadyWords(reason)).join(', ')}`;
}

/** From this delay of the event loop on, locks and deadlines of a worker are at risk. */
const SLOW_LOOP_MS = 1_000;

function slowLoop(loopDelayMs: number): string {
  return loopDelayMs < SLOW_LOOP_MS ? '' : `, was blocked for ${formatDuration(loopDelayMs)}`;
}
