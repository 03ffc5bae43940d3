import { isIP } from 'node:net';
import { sizeOfJson } from '../../contracts/json-value.ts';

/** An address of either family inside any text. Bounded, because the text is foreign. */
const CANDIDATE =
  /(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)|(?<![\w.:])[0-9a-f:]{0,39}:[0-9a-f:.]{0,45}[0-9a-f](?![\w:]|\.\d)/gi;

/**
 * The caller's address as the service saw it, if its answer contains one. The shape of the answer is not
 * shown (service-api, Errors), so any text of it counts; an answer with several addresses, such as the
 * allowlist, has none, nor has one that is nested too deeply to be written.
 *
 * @param json the answer's body
 */
export function callerAddress(json: unknown): string | undefined {
  if (sizeOfJson(json) === Infinity) return undefined;
  const text = JSON.stringify(json) ?? '';
  const found = new Set(
    [...text.matchAll(CANDIDATE)].map(([one]) => one).filter((one) => isIP(one) > 0),
  );
  const [address, ...others] = found;
  return others.length === 0 ? address : undefined;
}
