import type { DeliveryPolicy } from '../../src/contracts/delivery.ts';
import type { Group } from './coalescer.ts';

/**
 * Whether a group that was rejected goes on in parts, because one of its notices may have spoilt the
 * request for the others. The service has said then that it took nothing of it, and each notice is to
 * fail for its own fault only.
 *
 * A status of success around a body that says the opposite is a weaker word: what is sent at most once
 * is not sent again on it.
 *
 * @param size in notices
 */
export function shouldSplit(
  size: number,
  status: number | undefined,
  delivery: DeliveryPolicy,
): boolean {
  return size > 1 && ((status ?? 0) >= 400 || delivery === 'at-least-once');
}

/**
 * Cuts a refused group: into as many parts as each has notices, and a part of which one spoils again
 * into single notices. Of 100 notices one that spoils costs 20 requests more, and where all of them do
 * (a wrong template code) it is 11: sending each alone at once would cost 100 in the first case,
 * halving 99 in the second.
 *
 * The first part carries the requests that are still to be counted.
 */
export function splitGroup<Notice>({
  notices,
  isPart,
  uncounted = 0,
}: Group<Notice>): Group<Notice>[] {
  const size = isPart ? 1 : Math.floor(Math.sqrt(notices.length));
  const parts: Group<Notice>[] = [];
  for (let from = 0; from < notices.length; from += size) {
    const part = { notices: notices.slice(from, from + size), isPart: true };
    parts.push(from === 0 && uncounted > 0 ? { ...part, uncounted } : part);
  }
  return parts;
}
