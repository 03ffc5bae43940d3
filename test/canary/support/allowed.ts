import { NUMBERS, VALUES } from './canaries.ts';
import type { Hit } from './search.ts';

/** A place where canaries may be found, because docs/privacy.md says so. */
interface AllowedPlace {
  readonly place: string;
  /** Names of what is found there in every run. */
  readonly canaries: readonly string[];
  /** Any number or value may be found there: it depends on time which notices are not accepted. Default: no. */
  readonly anyContact?: boolean;
  /** Words of docs/privacy.md that name the place. */
  readonly page: string;
}

/** Contacts that are not accepted, whatever happens. */
const NOT_ACCEPTED = [
  'echoedWith400',
  'echoedWith404',
  'echoedWith422',
  'rejected',
  'unknown',
  'unknownToo',
  'inListRejected',
  'inListUnknown',
  'inListEchoed',
  'value',
  'listValue',
];

const EXPORTS = { canaries: NOT_ACCEPTED, anyContact: true, page: 'exports (`--csv`, downloads)' };
const OPEN = { canaries: ['unencrypted', 'openValue'], anyContact: true };
const MALFORMED = ['malformed', 'malformedValue', 'notJson'];
const STORED = {
  open: { ...OPEN, page: 'contacts and content of single notices' },
  sealed: { canaries: MALFORMED, page: "another producer's jobs that no worker can read" },
};

/** Every place; what is found elsewhere is a leak. */
const PLACES: Readonly<Record<string, Omit<AllowedPlace, 'place'>>> = {
  'file of rejected rows': {
    canaries: ['badRow', 'badRowValue', 'inList'],
    page: 'the file of rejected rows',
  },
  'exports of commands': EXPORTS,
  'download of an operator': EXPORTS,
  'Redis without PAYLOAD_KEY': STORED.open,
  'files of Redis without PAYLOAD_KEY': STORED.open,
  Redis: STORED.sealed,
  'files of Redis': STORED.sealed,
  // Of each argument it has the beginning: values may be cut off.
  'slow log of Redis without PAYLOAD_KEY': {
    canaries: ['unencrypted'],
    anyContact: true,
    page: 'slow log of Redis',
  },
  'slow log of Redis': { canaries: MALFORMED, page: 'slow log of Redis' },
  'answer to a sign-in': {
    canaries: ['session of vera', 'session of otto'],
    page: 'session of a person',
  },
  'output of a first start': { canaries: ['first password'], page: 'first password' },
  'output of new-key': { canaries: ['new API key'], page: 'a new API key' },
};

export const ALLOWED: readonly AllowedPlace[] = Object.entries(PLACES).map(([place, allowed]) => ({
  place,
  ...allowed,
}));

const CONTACT = new Set([...Object.keys(NUMBERS), ...Object.keys(VALUES)]);

/** What was found where it must not be, each once: the canary, its form, the place and what stands around it. */
export function leaksOf(hits: readonly Hit[]): string[] {
  const leaks = new Map<string, string>();
  for (const { place, canary, form, context } of hits) {
    const isAllowed = ALLOWED.some(
      (one) =>
        one.place === place &&
        (one.canaries.includes(canary) || (one.anyContact === true && CONTACT.has(canary))),
    );
    const leak = `${canary} as ${form} in ${place}`;
    if (!isAllowed && !leaks.has(leak)) leaks.set(leak, context);
  }
  return [...leaks].map(([leak, context]) => `${leak}: ${context}`);
}
