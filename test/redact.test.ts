import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { redact } from '../src/redact.ts';

const LOGGER = new URL('../dist/src/logger.js', import.meta.url).href;

describe('what is logged', () => {
  it('is written as it is where nothing is to be hidden', () => {
    const facts = { event: 'attempt', job: 'n-1', refused: [{ tokenId: 'a', status: 401 }] };
    expect(redact(facts)).toBe(facts);
  });

  it.each<[string, object]>([
    ['at the top', { contact: '01012345678' }],
    ['in an object', { request: { authorization: 'Bearer x' } }],
    ['in a list of contacts', { contacts: [{ name: 'x', contact: '01012345678' }] }],
    ['deep down', { a: { b: [{ c: { secretKey: 'x', accessKey: 'y' } }] } }],
    ['deeper than is looked', { a: { b: { c: { d: { e: { contact: '01012345678' } } } } } }],
  ])('never holds a secret or a number %s, and leaves what it was given alone', (_name, facts) => {
    const before = JSON.stringify(facts);
    const text = JSON.stringify(redact({ event: 'x', ...facts }));
    expect(text).toContain('[redacted]');
    expect(text).not.toMatch(/01012345678|Bearer|Key":"[xy]/);
    expect(JSON.stringify(facts)).toBe(before);
  });

  it('goes through it on its way out', () => {
    const script = `import(${JSON.stringify(LOGGER)}).then(({ createLogger }) => {
      const logger = createLogger('info').child({ worker: 'w' });
      logger.info({ event: 'test', contact: '01012345678' }, 'text');
      logger.flush(() => {});
    });`;
    const line = execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' });
    expect(JSON.parse(line)).toMatchObject({
      level: 'info',
      worker: 'w',
      event: 'test',
      contact: '[redacted]',
      msg: 'text',
    });
  });
});
