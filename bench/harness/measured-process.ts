import { fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import type { ProbeAnswer, ProbeQuestion, Usage } from './probe.ts';

const PROBE = new URL('./probe.js', import.meta.url).href;
const ROOT = new URL('../..', import.meta.url);

/** A process of the bench may take so long to answer or to end. */
const PATIENCE_MS = 60_000;

/** A process under measurement. */
export interface MeasuredProcess {
  readonly pid: number;
  /** What it prints goes there. */
  readonly logFile: string;
  /** What it has used since its start. */
  usage(): Promise<Usage>;
  send(message: object): void;
  /** The next message that has this field; what came before the call counts, too. */
  next<T extends object>(field: keyof T & string, withinMs?: number): Promise<T>;
  /** Asks it to end, and waits until it has. */
  stop(): Promise<void>;
}

/**
 * Starts a program of this build in a process of its own, with the probe loaded before it.
 *
 * @param program path below `dist/`, such as `bench/programs/bare-noop.js`
 * @param logFile gets what it prints
 */
export function startMeasured(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  logFile: string,
): MeasuredProcess {
  const log = openSync(logFile, 'a');
  const child = fork(new URL(program, ROOT), args, {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    execArgv: ['--import', PROBE],
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);
  const seen: object[] = [];
  const waiting = new Set<() => void>();
  let ended: string | undefined;
  const wakeAll = () => {
    for (const wake of waiting) wake();
  };
  child.on('message', (message) => {
    seen.push(message as object);
    wakeAll();
  });
  child.once('exit', (code, signal) => {
    ended = String(code ?? signal);
    wakeAll();
  });

  const take = async <T extends object>(
    wanted: (message: object) => boolean,
    what: string,
    withinMs = PATIENCE_MS,
  ): Promise<T> => {
    const deadline = setTimeout(wakeAll, withinMs);
    const until = performance.now() + withinMs;
    try {
      for (;;) {
        const at = seen.findIndex(wanted);
        if (at >= 0) return seen.splice(at, 1)[0] as T;
        if (ended !== undefined || performance.now() >= until) {
          const why = ended === undefined ? `said no ${what}` : `ended (${ended})`;
          throw new Error(`${program} ${why}: ${lastLines(logFile)}`);
        }
        let wake = () => {};
        await new Promise<void>((resolve) => {
          wake = resolve;
          waiting.add(wake);
        });
        waiting.delete(wake);
      }
    } finally {
      clearTimeout(deadline);
    }
  };
  const usage = async (): Promise<Usage> => {
    child.send({ probe: 'usage' } satisfies ProbeQuestion);
    return (await take<ProbeAnswer>((message) => 'probe' in message, 'usage')).value;
  };

  return {
    pid: child.pid ?? 0,
    logFile,
    usage,
    send: (message) => {
      child.send(message);
    },
    next: (field, withinMs) => take((message) => field in message, field, withinMs),
    stop: async () => {
      if (ended !== undefined) return;
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      // An open channel would keep a program alive that has ended its work.
      child.disconnect();
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await exit;
      clearTimeout(timer);
    },
  };
}

function lastLines(file: string): string {
  return readFileSync(file, 'utf8').trim().split('\n').slice(-5).join(' | ').slice(-1_000);
}
