/** BullMQ's commands and the wait for a job, as far as they are changed here. */
interface TimedBackend {
  execCommand: (client: never, command: string, args: never[]) => unknown;
  waitForJob: (timeout: number) => Promise<{ member: string; score: number } | null>;
}

/**
 * Where the scripts that promote, delay or end a job take the time, keys included. BullMQ passes the wall clock of
 * its process and has no option for another one.
 */
const TIME_AT: ReadonlyMap<string, number> = new Map([
  ['moveToActive', 12],
  ['moveToDelayed', 12],
  ['moveToFinished', 15],
]);

/** Where their reply says when the next delayed job is due. */
const NEXT_DUE_AT = 3;

/**
 * Lets a worker reckon due times by the clock of Redis, whatever the wall clock of its machine says.
 * @param now the clock of Redis, in milliseconds since the epoch
 */
export function followRedisTime(backend: TimedBackend, now: () => number): void {
  /** BullMQ compares a time of Redis with the wall clock. */
  const toWallClock = (due: number) => (due > 0 ? due + Math.round(Date.now() - now()) : due);
  const run = backend.execCommand.bind(backend);
  backend.execCommand = (client, command, args) => {
    const at = TIME_AT.get(command);
    if (at === undefined) return run(client, command, args);
    const timed: unknown[] = args;
    timed[at] = Math.round(now());
    const reply = run(client, command, args);
    return reply instanceof Promise ? reply.then(convert) : reply;
  };
  const convert = (reply: unknown) => {
    if (Array.isArray(reply)) reply[NEXT_DUE_AT] = toWallClock(Number(reply[NEXT_DUE_AT] ?? 0));
    return reply;
  };
  const wait = backend.waitForJob.bind(backend);
  backend.waitForJob = async (timeout) => {
    const marker = await wait(timeout);
    return marker === null ? null : { ...marker, score: toWallClock(marker.score) };
  };
}
