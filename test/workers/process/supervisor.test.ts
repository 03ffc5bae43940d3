import { fork, type ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { pino } from 'pino';
import { expect, it, vi } from 'vitest';
import { superviseWorkers } from '../../../workers/process/supervisor.ts';

vi.mock('node:child_process', () => ({ fork: vi.fn<typeof fork>() }));

/** A process that does not exist: it only has events. */
function child(pid: number | undefined, event: string, ...args: unknown[]): ChildProcess {
  const made = Object.assign(new EventEmitter(), { pid, connected: false, kill: () => true });
  setImmediate(() => made.emit(event, ...args));
  return made as unknown as ChildProcess;
}

const failure = (code: string) => Object.assign(new Error(`spawn ${code}`), { code });

it('a process that cannot be started is started again a second later', async () => {
  vi.mocked(fork)
    .mockImplementationOnce(() => {
      throw failure('EMFILE');
    })
    .mockImplementationOnce(() => child(undefined, 'error', failure('EAGAIN')))
    .mockImplementationOnce(() => child(7, 'exit', 2, null));
  const lines: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(line) });
  expect(await superviseWorkers(1, 1_000, logger)).toBe(2);
  expect(fork).toHaveBeenCalledTimes(3);
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { event: 'worker-not-started', code: 'EMFILE' },
    { event: 'worker-not-started', code: 'EAGAIN' },
  ]);
});
