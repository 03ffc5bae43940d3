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
export type EmulatorControls = Readonly<ReturnType<typeof controlsOf>>;

export function controlsOf(service: MessagingService, faults: FaultList) {
  return {
    record: (): RecordSummary => service.summary(),
    /** Accepted numbers in the order of first arrival; optionally only those accepted more than once. */
    contacts: (onlyTwice = false): Iterable<NumberCount> => service.record.numbers(onlyTwice),
    /** The last accepted contacts with their variables, template and request, oldest first. */
    details: (): AcceptedContact[] => service.record.details(),
    /** The last issuances and refusals, oldest first. */
    issuances: (): Issuance[] => service.issuances.all(),
    /** Creates or changes an app. @throws TypeError or RangeError that names the field */
    setApp: (change: AppChange): void => service.setApp(change),
    /** Returns how many valid tokens were revoked at once. @throws TypeError or RangeError */
    revokeTokens: (revocation: Revocation = {}): number => revoke(service, revocation),
    /** Issues a token as another program that shares the app would; the first app by default. */
    issueForeign: (accessKey?: string): EmulatedToken =>
      service.issueForeign(checked(text().optional(), accessKey, 'accessKey')),
    /** Adds a fault; returns its id. @throws TypeError that names the field */
    addFault: (fault: Fault): number => faults.add(checkedFault(fault)),
    faults: (): FaultReport[] => faults.all(),
    clearFaults: (): void => faults.clear(),
    /** Deletes the record, the issuances, pending revocations and all faults; keeps apps and tokens. */
    reset: (): void => {
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
