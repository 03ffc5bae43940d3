/** One thing that was looked at, and what it means. */
export interface Finding {
  /** Names what was looked at, for programs: it does not change. */
  readonly check: CheckName;
  /** `skip`: not looked at, and why. */
  readonly level: 'ok' | 'warn' | 'fail' | 'skip';
  /** In plain words. */
  readonly says: string;
  /** What to do; absent where nothing is to be done. */
  readonly remedy?: string;
}

/** Everything that `notices doctor` looks at, in its order. */
export const CHECKS = [
  'config',
  'redis.connection',
  'redis.version',
  'redis.policy',
  'redis.role',
  'redis.persistence',
  'redis.memory',
  'redis.latency',
  'redis.clock',
  'service.token',
  'service.address',
  'queue.hold',
  'queue.workers',
  'queue.versions',
  'queue.waiting',
  'queue.batches',
  'queue.unknown',
  'queue.retention',
  'dry-send',
  'send',
] as const;

/** Name of something that is looked at. */
export type CheckName = (typeof CHECKS)[number];

export const ok = (check: CheckName, says: string): Finding => ({ check, level: 'ok', says });
export const skip = (check: CheckName, says: string): Finding => ({ check, level: 'skip', says });
export const warn = (check: CheckName, says: string, remedy: string): Finding => ({
  check,
  level: 'warn',
  says,
  remedy,
});
export const fail = (check: CheckName, says: string, remedy: string): Finding => ({
  check,
  level: 'fail',
  says,
  remedy,
});

/** The worst level that occurs; what was not looked at is not bad. */
export function worstOf(findings: readonly Finding[]): 'ok' | 'warn' | 'fail' {
  const levels = new Set(findings.map(({ level }) => level));
  if (levels.has('fail')) return 'fail';
  return levels.has('warn') ? 'warn' : 'ok';
}
