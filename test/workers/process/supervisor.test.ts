import { fork, type ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { pino } from 'pino';
import { beforeEach, expect, it, vi } from 'vitest';
import { until } from '../../support/wait.ts';
import { superviseWorkers } from '../../../workers/process/supervisor.ts';

vi.mock('node:child_process', () => ({ fork: vi.fn<typeof fork>() }));
beforeEach(() => vi.mocked(fork).mockReset());

/** A process that does not exist: it only has events. */
function child(pid: number | undefined, event: string, ...args: unknown[]): ChildProcess {
  const made = Object.assign(new EventEmitter(), { pid, connected: false, kill: () => true });
  setImmediate(() => made.emit(event, ...args));
  return made as unknown as ChildProcess;
}

/** A process that runs until the test ends it. */
const running = (pid: number) =>
  Object.assign(new EventEmitter(), { pid, connected: false, kill: () => true });

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

it('a process that never ran is not started again after an invalid configuration, which the log says', async () => {
  const other = running(2);
  vi.mocked(fork)
    .mockImplementationOnce(() => child(1, 'exit', 2, null))
    .mockImplementationOnce(() => other as unknown as ChildProcess);
  const lines: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(line) });
  const ended = superviseWorkers(2, 1_000, logger);
  await until(() => lines.length > 0, { what: 'the line' });
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ event: 'worker-died', code: 2 });
  other.emit('exit', 2, null);
  expect(await ended).toBe(2);
  expect(fork).toHaveBeenCalledTimes(2);
});

it('a process that ran before is started again after an invalid configuration, while another one runs', async () => {
  const [first, last] = [running(1), running(4)];
  vi.mocked(fork)
    .mockImplementationOnce(() => first as unknown as ChildProcess)
    .mockImplementationOnce(() => child(2, 'exit', null, 'SIGKILL'))
    .mockImplementationOnce(() => child(3, 'exit', 2, null))
    .mockImplementationOnce(() => last as unknown as ChildProcess);
  const lines: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(line) });
  const ended = superviseWorkers(2, 1_000, logger);
  await until(() => vi.mocked(fork).mock.calls.length === 4, { what: 'the last start' });
  expect(vi.mocked(fork).mock.calls.map(([, args]) => args)).toEqual([['0'], ['1'], ['1'], ['1']]);
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { event: 'worker-died', signal: 'SIGKILL' },
    { event: 'worker-died', code: 2 },
  ]);
  first.emit('exit', 2, null);
  last.emit('exit', 2, null);
  expect(await ended).toBe(2);
  expect(fork).toHaveBeenCalledTimes(4);
});
