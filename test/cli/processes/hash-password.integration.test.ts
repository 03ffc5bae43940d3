import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../../support/wait.ts';

const MAIN = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url));
const PASSWORD = 'typed by a person';

// The program of Linux that gives a command a terminal.
describe.runIf(existsSync('/usr/bin/script'))('a password that is typed on a terminal', () => {
  it('is not shown', async () => {
    const env = { PATH: process.env['PATH'], NODE: process.execPath, MAIN };
    const command = '"$NODE" "$MAIN" ops hash-password kim';
    const child = spawn('/usr/bin/script', ['-qec', command, '/dev/null'], { env });
    onTestFinished(() => void child.kill('SIGKILL'));
    let shown = '';
    child.stdout.on('data', (piece: Buffer) => (shown += String(piece)));
    await until(() => shown.includes('Password'), { what: 'the question' });
    child.stdin.write(`${PASSWORD}\n\u0004`);
    await until(() => shown.includes('kim:viewer:scrypt.'), { what: 'the entry' });
    expect(shown).not.toContain(PASSWORD);
  });
});
