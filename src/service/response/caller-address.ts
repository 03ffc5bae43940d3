import { isIP } from 'node:net';

/** What may be an address of either family, inside any text. Bounded, for the text is foreign. */
const CANDIDATE =
  /(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)|(?<![\w.:])[0-9a-f:]{0,39}:[0-9a-f:.]{0,45}[0-9a-f](?![\w:]|\.\d)/gi;

/**
 * The address from which the service saw itself called, where its answer names one. What it says is
 * not shown (service-api, Errors): so any text of the answer will do, and an answer with several
 * addresses, such as the allowlist, names none.
 *
 * @param json the answer's body
 */
export function callerAddress(json: unknown): string | undefined {
  const text = JSON.stringify(json) ?? '';
  const found = new Set(
    [...text.matchAll(CANDIDATE)].map(([one]) => one).filter((one) => isIP(one) > 0),
  );
  const [address, ...others] = found;
  return others.length === 0 ? address : undefined;
}
