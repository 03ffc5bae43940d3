export interface Finding {
  /** Stable, for programs. */
  readonly check: CheckName;
  /** `skip`: the check was not made; `says` gives the reason. */
  readonly level: 'ok' | 'warn' | 'fail' | 'skip';
  readonly says: string;
  /** What to do; absent where nothing needs to be done. */
  readonly remedy?: string;
}

/** All checks of `notices doctor`, in their order. */
export const CHECKS = [
  'config',
  'alerts',
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
  'queue.settings',
  'queue.waiting',
  'queue.batches',
  'queue.unknown',
  'queue.retention',
] as const;

export type CheckName = (typeof CHECKS)[number];

const CANCELLED = 'cancelled';

export const ok = (check: CheckName, says: string): Finding => ({ check, level: 'ok', says });
export const skip = (check: CheckName, says: string): Finding => ({ check, level: 'skip', says });
/** A check that was left out because the command was stopped. */
export const cancelled = (check: CheckName): Finding => skip(check, CANCELLED);
export const isCancelled = ({ level, says }: Finding): boolean =>
  level === 'skip' && says === CANCELLED;

const trouble =
  (level: 'warn' | 'fail') =>
  (check: CheckName, says: string, remedy: string): Finding => ({ check, level, says, remedy });
export const warn = trouble('warn');
export const fail = trouble('fail');

/** @returns the worst level; skipped checks do not count */
export function worstOf(findings: readonly Finding[]): 'ok' | 'warn' | 'fail' {
  const levels = new Set(findings.map(({ level }) => level));
  if (levels.has('fail')) return 'fail';
  return levels.has('warn') ? 'warn' : 'ok';
}
