import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { LineGatherer } from '../../src/logging/line-gatherer.ts';

const LOGGER = new URL('../../dist/src/logging/logger.js', import.meta.url).href;

describe('the lines of the log', () => {
  const turn = () => new Promise<void>((resolve) => void setImmediate(resolve));

  function gather() {
    const texts: string[] = [];
    const gatherer = new LineGatherer({
      write: (text) => texts.push(text),
      flush: (done) => {
        texts.push('flushed');
        done?.();
      },
    });
    return { texts, gatherer };
  }

  it('of one turn are handed over as one text, in order, at its end', async () => {
    const { texts, gatherer } = gather();
    gatherer.write('a\n');
    gatherer.write('b\n');
    expect(texts).toEqual([]);
    await turn();
    expect(texts).toEqual(['a\nb\n']);
    gatherer.write('c\n');
    await turn();
    expect(texts).toEqual(['a\nb\n', 'c\n']);
  });

  it('are handed over before a flush', async () => {
    const { texts, gatherer } = gather();
    gatherer.write('a\n');
    await new Promise<void>((resolve) => {
      gatherer.flush(() => resolve());
    });
    expect(texts).toEqual(['a\n', 'flushed']);
    await turn();
    expect(texts).toEqual(['a\n', 'flushed']);
  });

  it.each([
    ['that ends by itself', ''],
    ['that exits in the turn in which it wrote them', 'process.exit(0);'],
  ])('are all there after a process %s', (_name, end) => {
    const script = `import(${JSON.stringify(LOGGER)}).then(({ createLogger }) => {
      const logger = createLogger('info').child({ worker: 'w' });
      for (let at = 0; at < 500; at++) logger.info({ event: 'test', at, contact: '01012345678' });
      ${end}
    });`;
    const { stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines).toMatchObject(
      Array.from({ length: 500 }, (_, at) => ({ level: 'info', worker: 'w', at })),
    );
    expect(stdout).not.toContain('01012345678');
  });
});
