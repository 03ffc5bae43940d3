import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { generalVariables } from '../../src/config/variables.ts';
import { queueVariables } from '../../src/config/variables/queue.ts';
import { redisVariables } from '../../src/config/variables/redis.ts';
import { testRedis } from '../support/redis.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { serviceEnv, emulatorWith } from '../emulator/running.ts';

const run = promisify(execFile);
const page = readFileSync('docs/library.md', 'utf8');
const redis = testRedis();

/** What each program of the page prints. */
const PRINTED = [/^(pending|sending|accepted)$/, /^$/, /^paused$/, /^\[\]$/];

describe('docs/library.md', () => {
  it('has programs that run as printed', async () => {
    const folder = temporaryFolder();
    mkdirSync(path.join(folder, 'node_modules'));
    symlinkSync(process.cwd(), path.join(folder, 'node_modules', 'notice-queue'));
    const emulator = await emulatorWith();
    const env = {
      PATH: process.env['PATH'],
      REDIS_URL: redis.url,
      REDIS_PREFIX: redis.freshPrefix(),
      ...serviceEnv(emulator.url),
      LOG_LEVEL: 'fatal',
    };
    const programs = [...page.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code);
    expect(programs).toHaveLength(PRINTED.length);
    for (const [at, program] of programs.entries()) {
      const file = path.join(folder, `${at}.mjs`);
      // Node 20 does not know the declaration.
      writeFileSync(file, program.replace('await using', 'const') + closing(program));
      const { stdout } = await run(process.execPath, [file], { cwd: folder, env });
      expect([at, stdout.trim()]).toEqual([at, expect.stringMatching(PRINTED[at] ?? /^$/)]);
    }
  }, 60_000);

  it('names the variable of every option', () => {
    const { prefix, ...connection } = redisVariables;
    const { payloadKeyPrevious: _, ...queue } = queueVariables;
    const options = {
      ...Object.fromEntries(Object.entries(connection).map(([key, row]) => [`redis.${key}`, row])),
      prefix,
      account: generalVariables.account,
      ...queue,
    };
    for (const [option, { variable }] of Object.entries(options)) {
      expect(page).toMatch(new RegExp(`\\| \`${option}\` +\\| \`${variable}\` +\\|`));
    }
  });
});

const closing = (program: string) =>
  program.includes('await using') ? 'await notices.close();\n' : '';
