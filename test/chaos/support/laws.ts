import type { Fate } from './judge.ts';
import { MOST_COMMANDS } from './settings.ts';

/** What the stage of a scenario saw itself. Counts are contacts unless said otherwise. */
interface Seen {
  /**
   * Taken while what Redis kept of it was lost afterwards: may be taken again, and no ledger can know.
   * 0 but where Redis itself goes back.
   */
  readonly forgotten: number;
  /** Faults injected, and how often they struck. */
  readonly faults: number;
  readonly strikes: number;
  /** Requests that went over a connection that was kept, and died meanwhile. */
  readonly onDead: number;
  /** Taken from a worker that was frozen, of what it held then, after it went on. */
  readonly late: number;
  /** Worker processes that ended by themselves, or not in order when they were told to. */
  readonly fallen: number;
  /** From the end of each fault to full speed, or to the end of what the dead held; milliseconds. */
  readonly recoveriesMs: readonly number[];
  /** The most commands a second that a process sent to Redis while the service took nothing. */
  readonly mostCommands: number;
  /** The longest time without an accepted contact. */
  readonly longestGapMs: number;
  /** The holds that were seen. */
  readonly holds: ReadonlySet<string>;
}

/** All that the laws are about, when everything has ended. */
export type Verdict = Fate & Seen;

/** What a scenario promises beyond what all do. */
export interface Promises {
  /** What each recovery may take; left out where nothing stands still. */
  readonly boundMs?: number;
  /** The hold that it must bring about. */
  readonly hold?: string;
  /** It costs no notice an attempt, and leaves nothing in doubt. */
  readonly harmless?: true;
  /** So many attempts a notice may spend all the same. Default: 0. */
  readonly spent?: number;
  /** Nobody dies or is abandoned while a token is issued. */
  readonly exactTokens?: true;
  /** So many attempts may end unknown, besides probes. */
  readonly mostInDoubt?: number;
  /** No good single notice waits longer. */
  readonly waitMs?: number;
}

/** A law, whether a verdict breaks it, and what then is said of it. */
type Law = readonly [
  name: string,
  isBroken: (verdict: Verdict, promises: Promises) => boolean,
  ...said: (keyof Verdict | keyof Promises)[],
];

/** Looks at the ledger below which "at every look" says nothing. */
const FEW_LOOKS = 20;

const isOnce = ({ delivery }: Verdict) => delivery === 'at-most-once';

export const LAWS: readonly Law[] = [
  [
    'the faults struck',
    (v) => v.strikes === 0 || v.faults === 0 || v.underWay === 0,
    'strikes',
    'faults',
    'underWay',
  ],
  [
    'the states of the batch add up at every look',
    (v) => v.wrongSums > 0 || v.looks < FEW_LOOKS,
    'looks',
    'wrongSums',
  ],
  ['the batch counts every contact once', (v) => v.sum !== v.listed, 'listed', 'sum'],
  ['nothing is lost', (v) => v.lost > 0, 'lost'],
  [
    'at-most-once: nobody gets it twice',
    (v) => isOnce(v) && v.twice + v.again > v.forgotten,
    'twice',
    'again',
    'forgotten',
  ],
  [
    'at-most-once: no request meets a connection that was kept and died',
    (v) => isOnce(v) && v.onDead > 0,
    'onDead',
  ],
  [
    'at-least-once: every duplicate is counted as possibly sent twice, in its lane',
    (v) => !isOnce(v) && v.uncounted > v.forgotten,
    'twice',
    'uncounted',
    'again',
    'forgotten',
  ],
  [
    'at-least-once: every single notice accepted twice is named in the log',
    (v) => !isOnce(v) && v.unnamed > v.forgotten,
    'twice',
    'unnamed',
    'forgotten',
  ],
  [
    'at-least-once: nothing is set aside while resends are left',
    (v) => v.setAside > 0,
    'setAside',
    'unknown',
  ],
  [
    'the service takes a contact 1 + UNKNOWN_RESENDS times at most',
    // A failover forgets an attempt at each of them at most.
    (v) => v.mostTaken > v.mostAllowed + Math.min(1, v.forgotten),
    'mostTaken',
    'mostAllowed',
  ],
  ['commands and metrics report the same', (v) => v.misreported !== 0, 'misreported'],
  ['what counts as accepted is in the record of the service', (v) => v.phantom > 0, 'phantom'],
  ['nothing ends in another state than accepted or unknown', (v) => v.misled > 0, 'misled'],
  ['what the service refuses for itself is rejected', (v) => v.badAmiss > 0, 'bad', 'badAmiss'],
  [
    'good notices do not wait for bad ones',
    (v, { waitMs }) => waitMs !== undefined && !(v.longestWaitMs <= waitMs),
    'longestWaitMs',
    'waitMs',
  ],
  [
    'requests of a notice <= 2 x ATTEMPTS + UNKNOWN_RESENDS + 1 + its probes',
    (v) => v.mostRequests > v.requestBound,
    'mostRequests',
    'requestBound',
  ],
  [
    'possibly sent is at most what was in flight, and probes',
    (v, { mostInDoubt }) => mostInDoubt !== undefined && v.inDoubt > mostInDoubt,
    'inDoubt',
    'mostInDoubt',
  ],
  [
    'issuances <= 1 + invalidations + 2 x faults',
    (v) => v.issued > 1 + v.invalidated + 2 * v.faults,
    'issued',
    'invalidated',
    'faults',
  ],
  [
    'issuances <= 1 + invalidations where no issuance is disturbed',
    (v, { exactTokens = false }) => exactTokens && v.issued > 1 + v.invalidated,
    'issued',
    'invalidated',
  ],
  ['what lost its lock sends nothing', (v) => v.late > 0, 'late'],
  ['no worker falls', (v) => v.fallen > 0, 'fallen'],
  [
    'no process sends more than so many commands a second to Redis while nothing is taken',
    (v) => !(v.mostCommands <= MOST_COMMANDS),
    'mostCommands',
  ],
  [
    'it recovers within its bound',
    ({ recoveriesMs }, { boundMs }) =>
      boundMs !== undefined &&
      (recoveriesMs.length === 0 || recoveriesMs.some((ms) => ms > boundMs)),
    'recoveriesMs',
    'boundMs',
  ],
  [
    'the hold is named for its cause',
    (v, { hold }) => hold !== undefined && !v.holds.has(hold),
    'hold',
    'holds',
  ],
  ['no hold is left', (v) => v.holdLeft, 'holdLeft'],
  [
    'what is harmless spends no attempt and leaves no doubt',
    (v, { harmless = false, spent = 0 }) =>
      harmless && (v.repeated > spent || v.twice + v.unknown + v.again > 0),
    'repeated',
    'twice',
    'unknown',
    'again',
  ],
];

const shown = (_: string, value: unknown) => {
  if (value instanceof Set) return [...value] as unknown[];
  return value === Infinity ? 'never' : value;
};

/** The laws that a verdict breaks, each in a sentence. */
export function brokenLaws(verdict: Verdict, promises: Promises): string[] {
  const all = { ...promises, ...verdict };
  return LAWS.filter(([, isBroken]) => isBroken(verdict, promises)).map(([name, , ...said]) => {
    const facts = Object.fromEntries(said.map((field) => [field, all[field]]));
    return `${name}: ${JSON.stringify(facts, shown)}`;
  });
}

/** Prints what became of a scenario under each policy; answers the laws that it broke. */
export const conclude = (
  scenario: string,
  verdicts: readonly Verdict[],
  promises: Promises,
  note = '',
): string[] => verdicts.flatMap((verdict) => concludeOne(scenario, verdict, promises, note));

function concludeOne(
  scenario: string,
  verdict: Verdict,
  promises: Promises,
  note: string,
): string[] {
  const { delivery, faults, strikes, handedOver, lost, twice, again, unknown } = verdict;
  const broken = brokenLaws(verdict, promises).map((law) => `${delivery}: ${law}`);
  console.log(
    `${delivery}, ${scenario}: ${broken.length === 0 ? 'ok' : `BROKEN: ${broken.join('; ')}`}; ` +
      `${faults} faults at ${verdict.underWay} jobs took effect ${strikes} times, ${handedOver} contacts, lost ${lost}, ` +
      `twice ${twice} of ${again} resent, unknown ${unknown}, tokens ${verdict.issued}, ` +
      `recovery ${Math.max(0, ...verdict.recoveriesMs)} ms of ${promises.boundMs ?? 'any'}, ` +
      `longest pause ${verdict.longestGapMs} ms, ` +
      `${verdict.mostCommands} commands a second of a process in pauses. ${note}`,
  );
  return broken;
}
