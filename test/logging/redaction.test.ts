import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { redacted } from '../../src/logging/logger.ts';

const HIDDEN = '[redacted]';

describe('what a log line must not hold', () => {
  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['a header', { authorization: 'Bearer x' }, { authorization: HIDDEN }],
    ['the access key', { accessKey: 'a' }, { accessKey: HIDDEN }],
    ['the secret key', { secretKey: 's' }, { secretKey: HIDDEN }],
    ['a number', { contact: '01012345678' }, { contact: HIDDEN }],
    ['a number that is no text', { contact: 1012345678 }, { contact: HIDDEN }],
    [
      'a header one level down',
      { headers: { authorization: 'x' } },
      { headers: { authorization: HIDDEN } },
    ],
    ['a number one level down', { row: { contact: '010' } }, { row: { contact: HIDDEN } }],
    [
      'the numbers of a list',
      { contacts: [{ contact: '010', var1: 'a' }, { contact: '011' }] },
      { contacts: [{ contact: HIDDEN, var1: 'a' }, { contact: HIDDEN }] },
    ],
    [
      'the numbers of a list one level down',
      { notice: { templateCode: 'T', contacts: [{ contact: '010' }] } },
      { notice: { templateCode: 'T', contacts: [{ contact: HIDDEN }] } },
    ],
  ])('%s', (_name, line, expected) => {
    const before = structuredClone(line);
    expect(redacted(line)).toStrictEqual(expected);
    expect(line).toStrictEqual(before);
  });

  it.each<[string, Record<string, unknown>]>([
    ['an attempt', { event: 'attempt', contacts: 12, refused: [{ tokenId: 'x', status: 401 }] }],
    ['a field that is not set', { event: 'x', contact: undefined }],
    ['nothing', {}],
    ['null', { cause: null, deep: { cause: null } }],
  ])('%s comes back as it is, without a copy', (_name, line) => {
    expect(redacted(line)).toBe(line);
  });
});

describe('the logger', () => {
  it('shows none of it, be it in the line or in what a child is bound to', () => {
    const logger = new URL('../../dist/src/logging/logger.js', import.meta.url).href;
    const script = `import { createLogger } from '${logger}';
      const log = createLogger({ logLevel: 'info' });
      log.child({ contact: '01000000001' }).info({ notice: { contacts: [{ contact: '01000000002' }] } }, 'x');
      log.flush();`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    expect(JSON.parse(stdout)).toMatchObject({
      level: 'info',
      contact: HIDDEN,
      notice: { contacts: [{ contact: HIDDEN }] },
    });
    expect(stdout).not.toMatch(/0100000000/);
  });
});
