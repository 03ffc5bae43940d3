import { Command } from 'commander';
import { isCancelled, worstOf, type Finding } from '../../doctor/finding.ts';
import { untilStopped, type CommandContext } from '../command-context.ts';
import { countOf } from '../../format/format.ts';
import { readConfig } from '../open-queue.ts';
import { print, wantsJson, writeLines } from '../output.ts';

/** `notices doctor`: checks everything that sending needs, and shows how to fix problems. */
export function doctorCommand(context: CommandContext): Command {
  return new Command('doctor')
    .description(
      'Checks configuration, Redis, the service and the queue, and shows how to fix problems; its exit code can gate a deployment.',
    )
    .option('--strict', 'exit with 1 also for warnings')
    .action(async ({ strict }: { strict?: boolean }, command: Command) => {
      const report = (finding: Finding) => {
        if (!wantsJson(command)) writeLines(context.stdout, linesOf(finding));
      };
      // Imported here because it loads the whole worker.
      const { examine, examineConfig } = await import('./examine.ts');
      const findings = examineConfig(context.env);
      for (const finding of findings) report(finding);
      if (worstOf(findings) !== 'fail') {
        const config = await readConfig(context);
        const examined = await untilStopped(context, (signal) => examine(config, signal, report));
        findings.push(...examined);
      }
      const answer = { worst: worstOf(findings), findings };
      print(context, command, answer, () => ['', summaryOf(findings)]);
      context.end(exitCodeFor(findings, strict === true));
    });
}

/**
 * | worst finding | exit code |
 * |---|---|
 * | none, or warnings | 0; 1 for warnings with --strict |
 * | invalid configuration | 2 |
 * | Redis unavailable | 3 |
 * | any other failure | 1 |
 * | stopped before every check was made | 1 |
 */
export function exitCodeFor(findings: readonly Finding[], strict: boolean): number {
  const failed = new Set(
    findings.filter(({ level }) => level === 'fail').map(({ check }) => check),
  );
  if (failed.has('config')) return 2;
  if (failed.has('redis.connection')) return 3;
  if (failed.size > 0 || findings.some(isCancelled)) return 1;
  return strict && worstOf(findings) === 'warn' ? 1 : 0;
}

const LEVEL_WIDTH = 4;
const CHECK_WIDTH = 17;

function linesOf({ check, level, says, remedy }: Finding): string[] {
  const head = `${level.padEnd(LEVEL_WIDTH)}  ${check.padEnd(CHECK_WIDTH)}  ${says}`;
  const indent = ' '.repeat(LEVEL_WIDTH + CHECK_WIDTH + 4);
  return remedy === undefined ? [head] : [head, `${indent}fix: ${remedy}`];
}

function summaryOf(findings: readonly Finding[]): string {
  const of = (level: Finding['level']) => findings.filter((one) => one.level === level).length;
  const [failed, warned] = [of('fail'), of('warn')];
  const found =
    failed + warned === 0
      ? 'No problems found.'
      : `${countOf(failed, 'problem')} and ${countOf(warned, 'warning')} found.`;
  const left = findings.filter(isCancelled).length;
  if (left === 0) return found;
  return `Stopped: ${countOf(left, 'check')} ${left === 1 ? 'was' : 'were'} not made. ${found}`;
}
