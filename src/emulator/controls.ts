import type { AcceptanceCounts, AcceptedContact, NumberCount } from './record/acceptance-record.ts';
import type { AppChange } from './service/apps.ts';
import { fieldsOf, integerIn, textOf } from './service/check-input.ts';
import { checkedFault, type Fault } from './faults/fault.ts';
import type { FaultList, FaultReport } from './faults/fault-list.ts';
import type { Issuance, IssuanceCounts } from './record/issuance-log.ts';
import type { AnswerCounts, MessagingService } from './service/messaging-service.ts';
import { parseFault } from './faults/parse-fault.ts';
import type { EmulatedToken } from './service/tokens.ts';

/** Exact counts since the start or the last reset. */
export interface RecordSummary extends AcceptanceCounts {
  readonly tokens: IssuanceCounts;
  /** Number of revocations that invalidated at least one valid token. */
  readonly revocations: number;
  /** Responses of each endpoint by code, without requests that a fault kept from being processed. */
  readonly answers: { readonly token: AnswerCounts; readonly send: AnswerCounts };
}

/** Which tokens to revoke, and when. */
export interface Revocation {
  /** The app whose tokens are revoked. Default: all apps. */
  readonly accessKey?: string;
  /**
   * Revoke once the record's total of accepted contacts has reached this number, right after the
   * send that reaches it. Default: now. Several can be pending.
   */
  readonly afterAccepted?: number;
}

const FIELDS = ['accessKey', 'afterAccepted'];

/** Controls for tests and tools, in the process and over `/control/`. */
export interface EmulatorControls {
  record(): RecordSummary;
  /** Accepted numbers in the order of first arrival; optionally only those accepted more than once. */
  contacts(onlyTwice?: boolean): Iterable<NumberCount>;
  /** The last accepted contacts with their variables, template and request, oldest first. */
  details(): AcceptedContact[];
  /** The last issuances and refusals, oldest first. */
  issuances(): Issuance[];
  /** Creates or changes an app. @throws TypeError or RangeError that names the field */
  setApp(change: AppChange): void;
  /** Returns how many valid tokens were revoked at once. @throws TypeError or RangeError */
  revokeTokens(revocation?: Revocation): number;
  /** Issues a token as another program that shares the app would; the first app by default. */
  issueForeign(accessKey?: string): EmulatedToken;
  /** Adds a fault, as an object or in the syntax of {@link parseFault}; returns its id. @throws TypeError or RangeError */
  addFault(fault: Fault | string): number;
  faults(): FaultReport[];
  clearFaults(): void;
  /** Deletes the record, the issuances, pending revocations and all faults; keeps apps and tokens. */
  reset(): void;
}

export function controlsOf(service: MessagingService, faults: FaultList): EmulatorControls {
  return {
    record: () => ({
      ...service.record.counts(),
      tokens: service.issuances.counts(),
      revocations: service.revocations,
      answers: service.answers,
    }),
    contacts: (onlyTwice = false) => service.record.numbers(onlyTwice),
    details: () => service.record.details(),
    issuances: () => service.issuances.all(),
    setApp: (change) => service.setApp(change),
    revokeTokens: (revocation = {}) => revoke(service, revocation),
    issueForeign: (accessKey) => service.issueForeign(accessKey),
    addFault: (fault) =>
      faults.add(typeof fault === 'string' ? parseFault(fault) : checkedFault(fault)),
    faults: () => faults.all(),
    clearFaults: () => faults.clear(),
    reset: () => {
      service.clear();
      faults.clear();
    },
  };
}

/** @throws TypeError or RangeError that names the field */
export function checkedRevocation(value: unknown): Revocation {
  assertRevocation(value);
  return value;
}

function assertRevocation(value: unknown): asserts value is Revocation {
  const { accessKey, afterAccepted } = fieldsOf('revocation', value, FIELDS);
  if (accessKey !== undefined) textOf('accessKey', accessKey);
  if (afterAccepted !== undefined) {
    integerIn('afterAccepted', afterAccepted, 1, Number.MAX_SAFE_INTEGER);
  }
}

function revoke(service: MessagingService, revocation: Revocation): number {
  const { accessKey, afterAccepted } = checkedRevocation(revocation);
  if (accessKey !== undefined) service.apps.named(accessKey);
  if (afterAccepted === undefined) return service.revoke(accessKey);
  let revoked = 0;
  service.record.whenTotal(afterAccepted, () => {
    revoked = service.revoke(accessKey);
  });
  return revoked;
}
