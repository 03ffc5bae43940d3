import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { waitForPong } from './ping.ts';
import type { ProvidedRedis, StepContext } from './redis-step.ts';

const DEADLINE_MS = 5_000;

/**
 * The Redis that REDIS_URL names. One that does not answer ends the search: another Redis in its
 * place would be a surprise.
 */
export async function fromEnvironment({ env }: StepContext): Promise<ProvidedRedis | string> {
  const url = env['REDIS_URL']?.trim() ?? '';
  if (url === '') return 'REDIS_URL is not set.';
  if (!/^rediss?:\/\//.test(url) || !URL.canParse(url)) {
    throw new NoticeQueueError('REDIS_MISSING', 'REDIS_URL is not a redis: or rediss: address.');
  }
  const problem = await waitForPong(url, { deadlineMs: DEADLINE_MS });
  if (problem !== undefined) {
    const detail = `The Redis of REDIS_URL did not answer PING within ${DEADLINE_MS} ms (${problem}).`;
    throw new NoticeQueueError('REDIS_MISSING', detail);
  }
  return { url, how: 'REDIS_URL', close: () => Promise.resolve() };
}
