import { describe, expect, it } from 'vitest';
import { Lifecycle, type BackgroundService } from '../../src/async/lifecycle.ts';

describe('Lifecycle', () => {
  const steps: string[] = [];
  const service = (name: string, more: Partial<BackgroundService> = {}): BackgroundService => ({
    start: () => steps.push(`start ${name}`),
    stop: () => void steps.push(`stop ${name}`),
    ...more,
  });

  it('stops in reverse order of the start, once', async () => {
    steps.length = 0;
    const lifecycle = new Lifecycle();
    await lifecycle.start(service('a'));
    lifecycle.onStop(() => void steps.push('close b'));
    await lifecycle.start(service('c'));
    await Promise.all([lifecycle.stop(), lifecycle.stop()]);
    await lifecycle.stop();
    expect(steps).toEqual(['start a', 'start c', 'stop c', 'close b', 'stop a']);
  });

  it('returns what a start returns', async () => {
    expect(await new Lifecycle().start(service('a', { start: () => 'ready' }))).toBe('ready');
  });

  it('a start that fails stops what was started, itself included', async () => {
    steps.length = 0;
    const lifecycle = new Lifecycle();
    await lifecycle.start(service('a'));
    const broken = service('b', { start: () => Promise.reject(new Error('no')) });
    await expect(lifecycle.start(broken)).rejects.toThrow('no');
    expect(steps).toEqual(['start a', 'stop b', 'stop a']);
    await lifecycle.stop();
    expect(steps).toHaveLength(3);
  });

  it('a stop that throws or hangs does not keep the others from stopping', async () => {
    steps.length = 0;
    const lifecycle = new Lifecycle();
    await lifecycle.start(service('a'));
    await lifecycle.start(service('b', { stop: () => Promise.reject(new Error('no')) }));
    await lifecycle.start(service('c', { stop: () => new Promise(() => {}) }), 10);
    await lifecycle.start(
      service('d', {
        stop: () => {
          throw new Error('no');
        },
      }),
    );
    await lifecycle.stop();
    expect(steps.slice(4)).toEqual(['stop a']);
  });

  it('stops without a start', async () => {
    await expect(new Lifecycle().stop()).resolves.toBeUndefined();
  });
});
