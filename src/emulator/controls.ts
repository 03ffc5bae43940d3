import type * as z from 'zod';
import { checked, fields, integer, text } from './check.ts';
import type { AppChange } from './service/apps.ts';
import { checkedFault, type Fault } from './faults/fault.ts';
import type { FaultList, FaultReport } from './faults/fault-list.ts';
import type { MessagingService } from './service/messaging-service.ts';
import type { AcceptedContact, Issuance, NumberCount, RecordSummary } from './service/record.ts';
import type { EmulatedToken } from './service/tokens.ts';

/** Which tokens to revoke, and when. */
const revocationSchema = fields({
  /** The app whose tokens are revoked. Default: all apps. */
  accessKey: text().optional(),
  /**
   * Revoke once the record's total of accepted contacts has reached this number, right after the
   * send that reaches it. Default: now. Several can be pending.
   */
  afterAccepted: integer(1, Number.MAX_SAFE_INTEGER).optional(),
});
export type Revocation = Readonly<z.input<typeof revocationSchema>>;

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
  /** Adds a fault; returns its id. @throws TypeError that names the field */
  addFault(fault: Fault): number;
  faults(): FaultReport[];
  clearFaults(): void;
  /** Deletes the record, the issuances, pending revocations and all faults; keeps apps and tokens. */
  reset(): void;
}

export function controlsOf(service: MessagingService, faults: FaultList): EmulatorControls {
  return {
    record: () => service.summary(),
    contacts: (onlyTwice = false) => service.record.numbers(onlyTwice),
    details: () => service.record.details(),
    issuances: () => service.issuances.all(),
    setApp: (change) => service.setApp(change),
    revokeTokens: (revocation = {}) => revoke(service, revocation),
    issueForeign: (accessKey) =>
      service.issueForeign(checked(text().optional(), accessKey, 'accessKey')),
    addFault: (fault) => faults.add(checkedFault(fault)),
    faults: () => faults.all(),
    clearFaults: () => faults.clear(),
    reset: () => {
      service.clear();
      faults.clear();
    },
  };
}

function revoke(service: MessagingService, revocation: Revocation): number {
  const { accessKey, afterAccepted } = checked(revocationSchema, revocation);
  if (accessKey !== undefined) service.apps.named(accessKey);
  if (afterAccepted === undefined) return service.revoke(accessKey);
  let revoked = 0;
  service.record.whenTotal(afterAccepted, () => {
    revoked = service.revoke(accessKey);
  });
  return revoked;
}
