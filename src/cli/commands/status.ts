import { Command } from 'commander';
import { loadConfig } from '../../config/config.ts';
import type { Status } from '../../ops/status.ts';
import { describeHold } from '../hold-view.ts';
import { describePace } from '../pace-view.ts';
import { duration, print, table } from '../output.ts';

/** `notices status`: needs no credentials; with them it also shows the token. */
export function statusCommand(end: (code: number) => void): Command {
  return new Command('status')
    .description('what goes, what waits, what is held and why')
    .option('--worker <host>', 'exit with 1 unless a worker lives on that host (a health check)')
    .action(async (options: { worker?: string }, command: Command) => {
      const config = loadConfig(undefined, { service: false });
      // Loaded when it is needed, and so after a wrong configuration was reported.
      const { readStatus } = await import('../../ops/status.ts');
      const status = await readStatus({
        redis: config.redis,
        account: config.account,
        service: config.service,
        tokenBudgetWindowMs: config.token.budgetWindowMs,
        pace: config.worker.pace.pace,
      });
      print(command, status, () => describe(status));
      const { worker } = options;
      if (worker !== undefined && !status.workers.some(({ host }) => host === worker)) end(1);
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
      ['pace', describePace(status.pace, Date.now())],
      ['token', describeToken(status)],
      ['workers', workers.length === 0 ? 'none: nothing is sent' : `${workers.length}`],
      ['redis', `${redis.version}, ${redis.policy === '' ? 'policy not shown' : redis.policy}`],
    ]),
    ...workers.map(
      ({ host, pid, active, concurrency, ageMs, loopDelayMs }) =>
        `  ${host} pid ${pid}: ${active} of ${concurrency} jobs, heard ${duration(ageMs)} ago${slow(loopDelayMs)}`,
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

/** From here on a worker's locks and deadlines begin to slip. */
const SLOW_LOOP_MS = 1_000;

function slow(loopDelayMs: number): string {
  return loopDelayMs < SLOW_LOOP_MS ? '' : `, was blocked for ${duration(loopDelayMs)}`;
}
