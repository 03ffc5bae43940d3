import { Command } from 'commander';
import { loadConfig } from '../../config/config.ts';
import type { Status } from '../../ops/status.ts';
import { wholeNumber } from '../arguments.ts';
import { describeHold } from './hold-view.ts';
import { describeRateLimit } from './rate-limit-view.ts';
import type { CommandContext } from '../command-context.ts';
import { duration, print, table, wantsJson, writeOut } from '../output.ts';
import { untilStopped } from '../until-stopped.ts';
import { UsageError } from '../usage-error.ts';
import { watch } from './watch.ts';

/** Seconds between two looks of `--watch` without a number. */
const WATCH_S = 2;

/** `notices status`: needs no credentials; with them it also shows the token. */
export function statusCommand(context: CommandContext): Command {
  return new Command('status')
    .description('what goes, what waits, what is held and why')
    .option('--worker <host>', 'exit with 1 unless a worker lives on that host (a health check)')
    .option(
      '--watch [seconds]',
      `look again every so many seconds (${WATCH_S}) until Ctrl-C; with --json an object a line`,
      wholeNumber(1, 3_600),
    )
    .action(async (options: { worker?: string; watch?: number | true }, command: Command) => {
      const { worker, watch: every } = options;
      if (worker !== undefined && every !== undefined) {
        throw new UsageError('--worker asks once: give it without --watch');
      }
      const config = loadConfig(context.env, { service: false });
      // Loaded when it is needed, and so after a wrong configuration was reported.
      const { readStatus } = await import('../../ops/status.ts');
      const look = () =>
        readStatus({
          redis: config.redis,
          account: config.account,
          service: config.service,
          tokenBudgetWindowMs: config.token.budgetWindowMs,
          rateLimit: config.worker.rateLimit.limit,
          redisRules: config.redisWatch,
        });
      if (every !== undefined) {
        const seconds = every === true ? WATCH_S : every;
        const answered = await untilStopped(context, (signal) =>
          watch(
            async () => {
              const status = await look();
              return { lines: describe(status), json: status };
            },
            {
              title: `notices status, account ${config.account}, every ${seconds} s, Ctrl-C ends`,
              everyMs: seconds * 1_000,
              json: wantsJson(command),
              signal,
              screen: context.stdout,
              write: (text) => writeOut(context.stdout, text),
            },
          ),
        );
        // It ends only by being ended; what it said last was an answer, or that there is none.
        context.end(answered ? 0 : 3);
        return;
      }
      const status = await look();
      print(context, command, status, () => describe(status));
      if (worker !== undefined && !status.workers.some(({ host }) => host === worker))
        context.end(1);
    });
}

function describe(status: Status): string[] {
  const { jobs, workers, redis } = status;
  const oldest =
    status.oldestWaitingMs === undefined
      ? ''
      : `, the oldest for ${duration(status.oldestWaitingMs)}`;
  return [
    ...table([
      ['waiting', `${jobs.waiting}${oldest}`],
      ['active', `${jobs.active}`],
      ['delayed', `${jobs.delayed}`],
      ['done', `${jobs.done} (still kept)`],
      ['failed', `${jobs.failed}`],
      ['hold', describeHold(status.hold, Date.now())],
      ['pace', describeRateLimit(status.rateLimit, Date.now())],
      ['token', describeToken(status)],
      ['workers', workers.length === 0 ? 'none: nothing is sent' : `${workers.length}`],
      ['redis', describeRedis(redis)],
    ]),
    ...redis.findings.map(
      ({ severity, words, remedy }) =>
        `  ${severity === 'refuse' ? 'no worker sends' : 'warning'}: ${words}; ${remedy}`,
    ),
    ...workers.map(
      ({ host, pid, active, concurrency, ageMs, loopDelayMs, unready }) =>
        `  ${host} pid ${pid}: ${active} of ${concurrency} jobs, heard ${duration(ageMs)} ago${slow(loopDelayMs)}${why(unready)}`,
    ),
  ];
}

function describeToken({ token }: Status): string {
  if (token === undefined) return 'not shown: set BASE_URL, ACCESS_KEY and SECRET_KEY';
  if (token.refusal !== undefined) return `refused: ${token.refusal.code}`;
  if (token.token === undefined) return token.issuing ? 'being issued' : 'none yet';
  const { id, ageMs } = token.token;
  return `${id}, ${duration(ageMs)} old, ${token.issuances} issued lately`;
}

function describeRedis({
  version,
  policy,
  persistence,
  usedBytes,
  maxBytes,
}: Status['redis']): string {
  const megabytes = (bytes: number) => `${Math.ceil(bytes / 1_000_000)} MB`;
  const kept = {
    aof: 'append-only file',
    rdb: 'snapshots only',
    none: 'nothing on disk',
    unknown: 'persistence not shown',
  };
  return [
    version,
    policy === '' ? 'policy not shown' : policy,
    kept[persistence],
    megabytes(usedBytes) + (maxBytes > 0 ? ` of ${megabytes(maxBytes)}` : ''),
  ].join(', ');
}

function why(unready: Status['workers'][number]['unready']): string {
  if (unready === undefined || unready.length === 0) return '';
  return `, not ready: ${unready.map(({ reason }) => reason).join(', ')}`;
}

/** From here on a worker's locks and deadlines begin to slip. */
const SLOW_LOOP_MS = 1_000;

function slow(loopDelayMs: number): string {
  return loopDelayMs < SLOW_LOOP_MS ? '' : `, was blocked for ${duration(loopDelayMs)}`;
}
