import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** What a run of tests showed. */
export interface TestRun {
  readonly result: 'passed' | 'failed' | 'time limit';
  /** Full names of the tests that failed; none where a file could not be read. */
  readonly failedTests: readonly string[];
  readonly failedFiles: readonly string[];
}

/** A copy of the tracked files in which mistakes are planted: the checkout never changes, whatever ends the run. */
export class Sandbox {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'notices-planted-'));
  #running: ChildProcess | undefined;

  constructor() {
    const listed = spawnSync('git', ['ls-files', '-z'], { encoding: 'utf8' });
    for (const file of listed.stdout.split('\0').filter((name) => existsSync(name))) {
      if (file === '') continue;
      mkdirSync(path.dirname(path.join(this.#folder, file)), { recursive: true });
      cpSync(file, path.join(this.#folder, file));
    }
    for (const folder of ['node_modules', 'dist']) {
      symlinkSync(path.resolve(folder), path.join(this.#folder, folder));
    }
  }

  read(file: string): string {
    return readFileSync(path.join(this.#folder, file), 'utf8');
  }

  /** Runs `test` with another text of a file. */
  async change<Result>(file: string, text: string, test: () => Promise<Result>): Promise<Result> {
    const source = this.read(file);
    writeFileSync(path.join(this.#folder, file), text);
    try {
      return await test();
    } finally {
      writeFileSync(path.join(this.#folder, file), source);
    }
  }

  /** Runs test files. @param words only the tests with these words in their names */
  async run(tests: readonly string[], limitMs: number, words?: string): Promise<TestRun> {
    const report = path.join(this.#folder, 'report.json');
    rmSync(report, { force: true });
    const args = ['node_modules/vitest/vitest.mjs', 'run', ...tests];
    args.push('--reporter=json', `--outputFile=${report}`);
    if (words !== undefined) args.push(`--testNamePattern=${literal(words)}`);
    let isLate = false;
    await new Promise<void>((resolve) => {
      this.#running = spawn(process.execPath, args, {
        cwd: this.#folder,
        env: { ...process.env, NOTICES_SKIP_BUILD: '1', CI: '', NO_COLOR: '1' },
        stdio: 'ignore',
        // A group of its own: what its tests started ends with it.
        detached: true,
      });
      const timer = setTimeout(() => {
        isLate = true;
        this.#end('SIGKILL');
      }, limitMs);
      this.#running.once('close', () => {
        clearTimeout(timer);
        this.#running = undefined;
        resolve();
      });
    });
    if (isLate) return { result: 'time limit', failedTests: [], failedFiles: [] };
    if (!existsSync(report)) return { result: 'failed', failedTests: [], failedFiles: tests };
    const { success, testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report;
    const failed = testResults.filter(({ status }) => status === 'failed');
    return {
      result: success ? 'passed' : 'failed',
      failedFiles: failed.map(({ name }) => path.relative(this.#folder, name)),
      failedTests: failed.flatMap(({ assertionResults }) =>
        assertionResults
          .filter(({ status }) => status === 'failed')
          .map(({ fullName }) => fullName),
      ),
    };
  }

  /** Ends what runs and removes the copy. */
  remove(): void {
    this.#end('SIGTERM');
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #end(signal: NodeJS.Signals): void {
    const { pid } = this.#running ?? {};
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // It ended by itself.
    }
  }
}

/** A regular expression that matches a text. */
const literal = (text: string) => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);

/** The part of vitest's JSON report that is read. */
interface Report {
  readonly success: boolean;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}
