import { Command } from 'commander';
import { loadConfig } from '../../config/config.ts';
import type { Notice } from '../../contracts/notice.ts';
import { readNotice } from '../../contracts/read-notice.ts';
import { worstOf, type Finding } from '../../doctor/finding.ts';
import { gather } from '../arguments.ts';
import type { CommandContext, Output } from '../command-context.ts';
import { confirm } from '../confirm.ts';
import { wantsJson } from '../output.ts';
import { untilStopped } from '../until-stopped.ts';
import { UsageError } from '../usage-error.ts';
import { variable } from '../variable.ts';

interface DoctorFlags {
  issue?: boolean;
  drySend: boolean;
  send?: string;
  template?: string;
  var?: readonly string[];
  strict?: boolean;
  yes?: boolean;
}

/** `notices doctor`: looks at everything a send needs, and says what to do about what is wrong. */
export function doctorCommand(context: CommandContext): Command {
  return new Command('doctor')
    .description('look at configuration, Redis, the service and the queue, and say what to mend')
    .option('--issue', 'issue a token also where one lives; the fleet goes over to it')
    .option(
      '--no-dry-send',
      'do not send through this Redis to an emulator, in an account of its own',
    )
    .option('--send <number>', 'make a real send to a number of your own; needs --template')
    .option('--template <code>', 'template of that send')
    .option('--var <name=value>', 'a template variable of that send (repeatable)', gather)
    .option('--strict', 'end with 1 also where there are only warnings')
    .option('--yes', 'do not ask before the real send')
    .action(async (flags: DoctorFlags, command: Command) => {
      const json = wantsJson(command);
      const tell = json ? () => {} : (finding: Finding) => write(context.stdout, linesOf(finding));
      const send = noticeOf(flags);
      // Loaded when it is needed: the whole fleet's parts stand behind it.
      const { examine, examineConfig } = await import('./examine.ts');
      const found = examineConfig(context.env);
      for (const finding of found) tell(finding);
      const usable = worstOf(found) !== 'fail';
      const config = usable ? loadConfig(context.env, { service: false }) : undefined;
      if (send !== undefined && config !== undefined) {
        if (config.service === undefined) {
          throw new UsageError('--send needs BASE_URL, ACCESS_KEY and SECRET_KEY');
        }
        const question = `Send template ${send.templateCode} to that number for real? It may cost money.`;
        if (!(await confirm(context, question, flags.yes === true))) {
          throw new UsageError('--send was not confirmed; nothing was sent');
        }
      }
      const findings =
        config === undefined
          ? found
          : await untilStopped(context, async (signal) => [
              ...found,
              ...(await examine(
                { config, issue: flags.issue === true, drySend: flags.drySend, send, signal },
                tell,
              )),
            ]);
      const worst = worstOf(findings);
      if (json) write(context.stdout, [JSON.stringify({ worst, findings }, null, 2)]);
      else write(context.stdout, ['', summaryOf(findings)]);
      context.end(exitCodeFor(findings, flags.strict === true));
    });
}

/**
 * | worst finding | exit code |
 * |---|---|
 * | none, or warnings | 0; 1 for warnings with --strict |
 * | a wrong configuration | 2 |
 * | Redis that does not serve | 3 |
 * | any other failure | 1 |
 */
export function exitCodeFor(findings: readonly Finding[], strict: boolean): number {
  const failed = new Set(
    findings.filter(({ level }) => level === 'fail').map(({ check }) => check),
  );
  if (failed.has('config')) return 2;
  if (failed.has('redis.connection')) return 3;
  if (failed.size > 0) return 1;
  return strict && worstOf(findings) === 'warn' ? 1 : 0;
}

function noticeOf({ send, template, var: pairs = [] }: DoctorFlags): Notice | undefined {
  if (send === undefined) {
    if (template === undefined && pairs.length === 0) return undefined;
    throw new UsageError('--template and --var belong to --send');
  }
  if (template === undefined) throw new UsageError('--send needs --template');
  const contact = { ...Object.fromEntries(pairs.map(variable)), contact: send };
  return readNotice({ templateCode: template, contacts: [contact] });
}

/** Columns of the level and of the name of what was looked at. */
const LEVEL_WIDTH = 4;
const CHECK_WIDTH = 17;

function linesOf({ check, level, says, remedy }: Finding): string[] {
  const head = `${level.padEnd(LEVEL_WIDTH)}  ${check.padEnd(CHECK_WIDTH)}  ${says}`;
  const indent = ' '.repeat(LEVEL_WIDTH + CHECK_WIDTH + 4);
  return remedy === undefined ? [head] : [head, `${indent}to do: ${remedy}`];
}

function summaryOf(findings: readonly Finding[]): string {
  const of = (level: Finding['level']) => findings.filter((one) => one.level === level).length;
  const [failed, warned] = [of('fail'), of('warn')];
  if (failed + warned === 0) return 'nothing is wrong';
  return `${failed} to mend, ${warned} to look at`;
}

function write(stdout: Output, lines: readonly string[]): void {
  stdout.write(`${lines.join('\n')}\n`);
}
