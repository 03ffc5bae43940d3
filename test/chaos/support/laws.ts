import type { DeliveryPolicy } from '../../../src/contracts/outcome.ts';
import { MOST_COMMANDS } from './settings.ts';

/** All that the laws are about, when everything has ended. Counts are contacts unless said otherwise. */
export interface Verdict {
  readonly delivery: DeliveryPolicy;
  /** Handed over in the batch, and what the states of the batch add up to. */
  readonly listed: number;
  readonly sum: number;
  /** Looks at the ledger meanwhile, and those at which the states did not make up the total. */
  readonly looks: number;
  readonly wrongSums: number;
  /** Handed over in all. */
  readonly handedOver: number;
  /** Neither taken by the service nor listed as unknown. */
  readonly lost: number;
  /** Taken more than once. */
  readonly twice: number;
  /** Acceptances beyond the first of a contact that `possiblySentTwice` does not cover, lane by lane. */
  readonly uncounted: number;
  /** Single notices taken more than once of which no attempt in the log has `possiblySent`. */
  readonly unnamed: number;
  /** Listed as unknown, for a person to decide. */
  readonly unknown: number;
  /** At-least-once: those among them that were not sent as often as UNKNOWN_RESENDS allows. */
  readonly setAside: number;
  /**
   * Taken while what Redis kept of it was lost afterwards: may be taken again, and no ledger can know.
   * 0 but where Redis itself goes back.
   */
  readonly forgotten: number;
  /** `possiblySentTwice` of both lanes: sent again although the attempt before may have been taken. */
  readonly again: number;
  /** By how much commands and metrics differ where they report the same. */
  readonly misreported: number;
  /** Reported as accepted, and not in the service's record. */
  readonly phantom: number;
  /** Ended otherwise than as accepted or unknown, or in two ways. */
  readonly misled: number;
  /** Notices and contacts that the service refuses for themselves, and those that did not end as rejected. */
  readonly bad: number;
  readonly badAmiss: number;
  /** Tokens issued, and tokens that died before their time. */
  readonly issued: number;
  readonly invalidated: number;
  /** Faults injected, and how often they struck. */
  readonly faults: number;
  readonly strikes: number;
  /** The most attempts of one job beyond its first. */
  readonly repeated: number;
  /** Attempts whose outcome was unknown, probes excepted. */
  readonly inDoubt: number;
  /** How often the service took a contact at most, and what UNKNOWN_RESENDS allows. */
  readonly mostTaken: number;
  readonly mostAllowed: number;
  /** The most requests for one job, probes excepted, and what its settings allow. */
  readonly mostRequests: number;
  readonly requestBound: number;
  /** The longest time from the receipt of a good single notice to its acceptance, where it is kept. */
  readonly longestWaitMs: number;
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
  /** The holds that were seen, and whether one is left. */
  readonly holds: ReadonlySet<string>;
  readonly holdLeft: boolean;
}

/** What a scenario promises beyond what all do. */
export interface Promises {
  readonly boundMs?: number | undefined;
  readonly hold?: string | undefined;
  readonly harmless?: boolean | undefined;
  /** So many attempts a job may spend all the same. Default: 0. */
  readonly spent?: number | undefined;
  /** Nobody dies or is abandoned while a token is issued. */
  readonly exactTokens?: boolean | undefined;
  /** So many attempts may end unknown, besides probes. */
  readonly inDoubt?: number | undefined;
  /** No good single notice waits longer. */
  readonly waitMs?: number | undefined;
}

/** One law; `broken` says how a verdict breaks it. */
export interface Law {
  readonly name: string;
  readonly broken: (verdict: Verdict, promises: Promises) => string | undefined;
}

const law = (
  name: string,
  isBroken: (verdict: Verdict, promises: Promises) => boolean,
  seen: (verdict: Verdict, promises: Promises) => unknown,
): Law => ({
  name,
  broken: (verdict, promises) =>
    isBroken(verdict, promises) ? `${name}: ${JSON.stringify(seen(verdict, promises))}` : undefined,
});

/** Looks at the ledger below which "at every look" says nothing. */
const FEW_LOOKS = 20;

export const LAWS: readonly Law[] = [
  law(
    'the faults struck',
    ({ strikes, faults }) => strikes === 0 || faults === 0,
    ({ strikes, faults }) => ({ strikes, faults }),
  ),
  law(
    'the states of the batch add up at every look',
    ({ looks, wrongSums }) => wrongSums > 0 || looks < FEW_LOOKS,
    ({ looks, wrongSums }) => ({ looks, wrongSums }),
  ),
  law(
    'the batch counts every contact once',
    ({ listed, sum }) => sum !== listed,
    ({ listed, sum }) => ({ listed, sum }),
  ),
  law(
    'nothing is lost',
    ({ lost }) => lost > 0,
    ({ lost }) => lost,
  ),
  law(
    'at-most-once: nobody gets it twice',
    ({ delivery, twice, again, forgotten }) =>
      delivery === 'at-most-once' && twice + again > forgotten,
    ({ twice, again, forgotten }) => ({ twice, again, forgotten }),
  ),
  law(
    'at-most-once: no request meets a connection that was kept and died',
    ({ delivery, onDead }) => delivery === 'at-most-once' && onDead > 0,
    ({ onDead }) => onDead,
  ),
  law(
    'at-least-once: every duplicate is counted as possibly sent twice, in its lane',
    ({ delivery, uncounted, forgotten }) => delivery === 'at-least-once' && uncounted > forgotten,
    ({ twice, uncounted, again, forgotten }) => ({ twice, uncounted, again, forgotten }),
  ),
  law(
    'at-least-once: every single notice accepted twice is named in the log',
    ({ delivery, unnamed, forgotten }) => delivery === 'at-least-once' && unnamed > forgotten,
    ({ twice, unnamed, forgotten }) => ({ twice, unnamed, forgotten }),
  ),
  law(
    'at-least-once: nothing is set aside while resends are left',
    ({ setAside }) => setAside > 0,
    ({ setAside, unknown }) => ({ setAside, unknown }),
  ),
  law(
    'the service takes a contact 1 + UNKNOWN_RESENDS times at most',
    // A failover forgets an attempt at each of them at most.
    ({ mostTaken, mostAllowed, forgotten }) => mostTaken > mostAllowed + Math.min(1, forgotten),
    ({ mostTaken, mostAllowed }) => ({ mostTaken, mostAllowed }),
  ),
  law(
    'commands and metrics report the same',
    ({ misreported }) => misreported !== 0,
    ({ misreported }) => misreported,
  ),
  law(
    'what counts as accepted is in the record of the service',
    ({ phantom }) => phantom > 0,
    ({ phantom }) => phantom,
  ),
  law(
    'nothing ends in another state than accepted or unknown',
    ({ misled }) => misled > 0,
    ({ misled }) => misled,
  ),
  law(
    'what the service refuses for itself is rejected',
    ({ badAmiss }) => badAmiss > 0,
    ({ bad, badAmiss }) => ({ bad, badAmiss }),
  ),
  law(
    'good notices do not wait for bad ones',
    ({ longestWaitMs }, { waitMs }) => waitMs !== undefined && !(longestWaitMs <= waitMs),
    ({ longestWaitMs }, { waitMs }) => ({ longestWaitMs, waitMs }),
  ),
  law(
    'requests of a notice <= 2 x ATTEMPTS + UNKNOWN_RESENDS + 1 + its probes',
    ({ mostRequests, requestBound }) => mostRequests > requestBound,
    ({ mostRequests, requestBound }) => ({ mostRequests, requestBound }),
  ),
  law(
    'possibly sent is at most what was in flight, and probes',
    ({ inDoubt }, { inDoubt: most }) => most !== undefined && inDoubt > most,
    ({ inDoubt }, { inDoubt: most }) => ({ inDoubt, most }),
  ),
  law(
    'issuances <= 1 + invalidations + 2 x faults',
    ({ issued, invalidated, faults }) => issued > 1 + invalidated + 2 * faults,
    ({ issued, invalidated, faults }) => ({ issued, invalidated, faults }),
  ),
  law(
    'issuances <= 1 + invalidations where no issuance is disturbed',
    ({ issued, invalidated }, { exactTokens = false }) => exactTokens && issued > 1 + invalidated,
    ({ issued, invalidated }) => ({ issued, invalidated }),
  ),
  law(
    'what lost its lock sends nothing',
    ({ late }) => late > 0,
    ({ late }) => late,
  ),
  law(
    'no worker falls',
    ({ fallen }) => fallen > 0,
    ({ fallen }) => fallen,
  ),
  law(
    'no process sends more than so many commands a second to Redis while nothing is taken',
    ({ mostCommands }) => !(mostCommands <= MOST_COMMANDS),
    ({ mostCommands }) => ({ mostCommands, most: MOST_COMMANDS }),
  ),
  law(
    'it recovers within its bound',
    ({ recoveriesMs }, { boundMs }) =>
      boundMs !== undefined &&
      (recoveriesMs.length === 0 || recoveriesMs.some((ms) => ms > boundMs)),
    ({ recoveriesMs }, { boundMs }) => ({
      recoveriesMs: recoveriesMs.map((ms) => (ms === Infinity ? 'never' : ms)),
      boundMs,
    }),
  ),
  law(
    'the hold is named for its cause',
    ({ holds }, { hold }) => hold !== undefined && !holds.has(hold),
    ({ holds }, { hold }) => ({ hold, seen: [...holds] }),
  ),
  law(
    'no hold is left',
    ({ holdLeft }) => holdLeft,
    ({ holdLeft }) => holdLeft,
  ),
  law(
    'what is harmless spends no attempt and leaves no doubt',
    ({ repeated, twice, unknown, again }, { harmless = false, spent = 0 }) =>
      harmless && (repeated > spent || twice + unknown + again > 0),
    ({ repeated, twice, unknown, again }) => ({ repeated, twice, unknown, again }),
  ),
];

/** The laws that a verdict breaks, each in a sentence. */
export function brokenLaws(verdict: Verdict, promises: Promises): string[] {
  return LAWS.flatMap(({ broken }) => broken(verdict, promises) ?? []);
}
