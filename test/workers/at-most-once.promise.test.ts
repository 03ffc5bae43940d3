import { describe, expect, it } from 'vitest';
import { until } from '../support/wait.ts';
import { atMostOnceFleet } from './support/at-most-once.ts';

describe('a notice sent at most once', () => {
  const { begin } = atMostOnceFleet();

  it('whose worker is killed after the service acted is listed, and not sent again', async () => {
    const { on, board, worker, send, listed } = await begin();
    on.emulator.addFault({ on: 'send', hang: 'after-acting', times: 1 });
    const { id } = await send();
    await until(() => on.emulator.record().distinct === 1, { what: 'the service to act' });
    worker.kill('SIGKILL');
    await worker.ended;
    await on.addWorker();
    expect(await listed()).toMatchObject({
      id,
      template: 'ONCE',
      contacts: 1,
      code: 'OUTCOME_UNKNOWN',
      stage: 'started',
      delivery: 'at-most-once',
    });
    expect(await board.getJobState(id)).toBe('unknown');
    expect(on.emulator.record()).toMatchObject({ distinct: 1, twice: 0, requests: 1 });
  }, 60_000);
});
