/** What a browser says of where a request comes from. */
export interface RequestOrigin {
  /** The `Origin` header. */
  readonly origin: string | undefined;
  /** The `Sec-Fetch-Site` header. Browsers send it over https, and to this machine. */
  readonly fetchSite: string | undefined;
  /** Host and port that the caller believes to call. */
  readonly host: string | undefined;
}

/**
 * Whether a change may come from where it says it comes from.
 *
 * | Sec-Fetch-Site | Origin | answer |
 * |---|---|---|
 * | same-origin | any | yes |
 * | none (typed, a bookmark) | none, or ours | yes |
 * | same-site, cross-site, anything else | any | no |
 * | missing | ours | yes |
 * | missing | another, or `null` | no |
 * | missing | missing | yes: no browser of today; the token decides |
 */
export function isFromHere({ origin, fetchSite, host }: RequestOrigin): boolean {
  if (fetchSite === 'same-origin') return true;
  if (fetchSite !== undefined && fetchSite !== 'none') return false;
  if (origin === undefined) return true;
  if (host === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === host.toLowerCase();
}
