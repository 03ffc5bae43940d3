import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { until } from './wait.ts';

const DEADLINE_MS = 120_000;

/** A shell that takes one block after another and ends at the first command that fails. */
export class Shell {
  readonly #child: ChildProcess;
  #output = '';
  #ended = false;
  #blocks = 0;

  constructor(cwd: string, env: Readonly<Record<string, string>>) {
    const child = spawn('bash', ['-e'], { cwd, env, detached: true });
    child.stdout.setEncoding('utf8').on('data', (text: string) => (this.#output += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#output += text));
    child.once('exit', () => (this.#ended = true));
    this.#child = child;
  }

  /** Runs a block to its end; background commands go on. Returns what was written meanwhile. */
  async run(block: string): Promise<string> {
    const from = this.#output.length;
    const mark = `block ${(this.#blocks += 1)} has ended`;
    this.#child.stdin?.write(`${block}\necho '${mark}'\n`);
    const written = () => this.#output.slice(from);
    await until(() => this.#ended || written().includes(mark), {
      what: `the end of ${block}`,
      deadlineMs: DEADLINE_MS,
    }).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${written()}`);
    });
    if (this.#ended) throw new Error(`${block} failed: ${written()}`);
    return written();
  }

  /** Ends the shell and everything that it started. */
  async close(): Promise<void> {
    if (this.#ended || this.#child.pid === undefined) return;
    const closed = once(this.#child, 'close');
    process.kill(-this.#child.pid, 'SIGKILL');
    await closed;
  }
}
