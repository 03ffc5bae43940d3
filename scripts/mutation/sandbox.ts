import { createHash } from 'node:crypto';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Mutant } from './mutate.ts';

/** What a run of tests showed. */
export interface TestRun {
  /** `invalid`: the code could not be read, so it is not counted. */
  readonly result: 'passed' | 'failed' | 'time limit' | 'invalid';
  /** The first test that failed. */
  readonly failed?: string | undefined;
  /** The full names of all tests that failed. */
  readonly failedTests?: readonly string[] | undefined;
  /** The files with a test that failed. */
  readonly failedFiles?: readonly string[] | undefined;
  /** Seconds that each file took, where it ended. */
  readonly durations: ReadonlyMap<string, number>;
}

const NOT_CODE =
  /Transform failed|PARSE_ERROR|SyntaxError|Error compiling script|user_script.*expected/;

/**
 * A copy of the tracked files in which mistakes are planted, so that the checkout never changes, whatever
 * ends the run.
 */
export class Sandbox {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'notices-mutation-'));
  readonly files: readonly string[];
  #running: ChildProcess | undefined;

  constructor() {
    const listed = spawnSync('git', ['ls-files', '-z'], { encoding: 'utf8' });
    this.files = listed.stdout.split('\0').filter((file) => file !== '' && existsSync(file));
    for (const file of this.files) {
      mkdirSync(path.dirname(path.join(this.folder, file)), { recursive: true });
      cpSync(file, path.join(this.folder, file));
    }
    symlinkSync(path.resolve('node_modules'), path.join(this.folder, 'node_modules'));
    this.#build();
  }

  /** Names the contents of all files of code and tests. */
  digest(): string {
    const hash = createHash('sha256');
    for (const file of this.files.filter((name) => name.endsWith('.ts'))) {
      hash.update(`${file}\0${this.read(file)}\0`);
    }
    return hash.digest('hex').slice(0, 16);
  }

  read(file: string): string {
    return readFileSync(path.join(this.folder, file), 'utf8');
  }

  /** Runs `test` with a mistake in place. `build`: also in the built files, which processes of tests run. */
  plant<Result>(
    { file, line, text }: Mutant,
    build: boolean,
    test: () => Promise<Result>,
  ): Promise<Result> {
    const lines = this.read(file).split('\n');
    return this.change(file, lines.with(line - 1, text).join('\n'), build, test);
  }

  /** Whether the code compiles with a mistake in place. The compiler does not read the scripts of Redis. */
  compiles(mutant: Mutant): Promise<boolean> {
    const tsc = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--noEmit'];
    return this.plant(mutant, false, () => {
      const { status } = spawnSync(process.execPath, tsc, { cwd: this.folder, stdio: 'ignore' });
      return Promise.resolve(status === 0);
    });
  }

  /** Runs `test` with another text of a file. */
  async change<Result>(
    file: string,
    text: string,
    build: boolean,
    test: () => Promise<Result>,
  ): Promise<Result> {
    const source = this.read(file);
    const built = path.join(this.folder, `dist/${file.replace(/\.ts$/, '.js')}`);
    // Tests, documents and settings are not built.
    const before = existsSync(built) ? readFileSync(built) : undefined;
    writeFileSync(path.join(this.folder, file), text);
    if (build) this.#build();
    try {
      return await test();
    } finally {
      writeFileSync(path.join(this.folder, file), source);
      if (before !== undefined) writeFileSync(built, before);
    }
  }

  /**
   * Runs test files of one tier.
   *
   * @param bail whether the first failure ends it. Default true
   * @param words only the tests with these words in their names
   */
  async run(
    tier: string,
    tests: readonly string[],
    limitMs: number,
    { bail = true, words }: { readonly bail?: boolean; readonly words?: string } = {},
  ): Promise<TestRun> {
    const report = path.join(this.folder, 'report.json');
    rmSync(report, { force: true });
    const args = ['node_modules/vitest/vitest.mjs', 'run', '--project', tier, ...tests];
    args.push('--reporter=json', `--outputFile=${report}`, ...(bail ? ['--bail', '1'] : []));
    if (words !== undefined) args.push(`--testNamePattern=${literal(words)}`);
    let output = '';
    let isLate = false;
    await new Promise<void>((resolve) => {
      const child = spawn(process.execPath, args, {
        cwd: this.folder,
        env: { ...process.env, NOTICES_SKIP_BUILD: '1', CI: '', NO_COLOR: '1' },
        stdio: ['ignore', 'pipe', 'pipe'],
        // A group of its own: what its tests started ends with it.
        detached: true,
      });
      this.#running = child;
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (part: Buffer) => (output += part.toString()));
      }
      const timer = setTimeout(() => {
        isLate = true;
        this.#end('SIGKILL');
      }, limitMs);
      child.once('close', () => {
        clearTimeout(timer);
        this.#running = undefined;
        resolve();
      });
    });
    if (isLate) return { result: 'time limit', durations: new Map() };
    return this.#read(report, output);
  }

  /** Ends what runs and removes the copy. */
  remove(): void {
    this.#end('SIGTERM');
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
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

  #build(): void {
    const tsc = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--incremental'];
    // A type error does not keep it from writing the files.
    spawnSync(process.execPath, tsc, { cwd: this.folder, stdio: 'ignore' });
  }

  #read(report: string, output: string): TestRun {
    if (!existsSync(report)) {
      return { result: 'failed', failed: output.trim().split('\n').at(-1), durations: new Map() };
    }
    const read = JSON.parse(readFileSync(report, 'utf8')) as Report;
    const durations = new Map(
      read.testResults.map(({ name, startTime, endTime }) => [
        path.relative(this.folder, name),
        (endTime - startTime) / 1_000,
      ]),
    );
    if (read.success) return { result: 'passed', durations };
    const messages = read.testResults.flatMap(({ message, assertionResults }) => [
      message ?? '',
      ...assertionResults.flatMap(({ failureMessages }) => failureMessages ?? []),
    ]);
    const failed = read.testResults
      .filter(({ status }) => status === 'failed')
      .map(({ name, assertionResults }) => ({
        file: path.relative(this.folder, name),
        test: assertionResults.find(({ status }) => status === 'failed')?.fullName ?? 'the file',
      }));
    return {
      result: messages.some((message) => NOT_CODE.test(message)) ? 'invalid' : 'failed',
      failed: failed[0] && `${failed[0].file} > ${failed[0].test}`,
      failedTests: read.testResults.flatMap(({ assertionResults }) =>
        assertionResults
          .filter(({ status }) => status === 'failed')
          .map(({ fullName }) => fullName),
      ),
      failedFiles: failed.map(({ file }) => file),
      durations,
    };
  }
}

/** A regular expression that matches a text. */
function literal(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}

/** The part of vitest's JSON report that is read. */
interface Report {
  readonly success: boolean;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}
