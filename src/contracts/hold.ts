import { createHash } from 'node:crypto';
import { z } from 'zod';
import { ERROR_CODES, type ErrorCode } from './errors.ts';

/** Whose fault a hold is: who can end its cause. */
export const FAULTS = [
  'our configuration',
  'the service',
  'the network',
  'the template',
  'a person',
] as const;

export type HoldFault = (typeof FAULTS)[number];

/** What to do about a hold: whose fault it is, one sentence, and the command to begin with. */
interface Remedy {
  readonly fault: HoldFault;
  readonly remedy: string;
  readonly command: string;
}

/**
 * Holds: sending is stopped for the whole account, for a cause that is not one notice's. One row per kind,
 * for the person who is called when notices stop; {@link CODE_FAULTS} has the codes that say more.
 */
export const HOLDS = {
  credentials: {
    reason:
      'the service refuses the key pair, the app or the caller address, or one notice after another',
    fault: 'our configuration',
    remedy:
      'check ACCESS_KEY, SECRET_KEY, API_VERSION, the approval of the app and its IP allowlist; if the code is about the notices (a sender key, a template), correct or cancel them',
    command: 'notices doctor',
  },
  'token-contested': {
    reason:
      'tokens become invalid soon after they are issued: another program issues tokens for this app',
    fault: 'a person',
    remedy:
      'stop the other program that uses this key pair, or give it an app of its own; if nothing was ever accepted, check API_VERSION',
    command: 'notices status',
  },
  'token-unavailable': {
    reason: 'the token endpoint does not answer',
    fault: 'the service',
    remedy: 'check BASE_URL, TOKEN_PATH and the network; the service itself may be down',
    command: 'notices doctor',
  },
  unreachable: {
    reason: 'no connection to the service: nothing is sent',
    fault: 'the network',
    remedy: 'check BASE_URL, PROXY_URL, the name server and the network; the service may be down',
    command: 'notices doctor',
  },
  failing: {
    reason: 'requests end with a server error or without an answer, so each may have been taken',
    fault: 'the service',
    remedy:
      'wait: one notice or chunk at a time probes it, those sent at most once last; ask the service about its outage',
    command: 'notices failures --state unknown',
  },
  credit: {
    reason: 'the credit of the account has run out (402)',
    fault: 'a person',
    remedy: 'top up the account at the service',
    command: 'notices hold lift',
  },
  throttled: {
    reason: 'the service limits the send requests (429)',
    fault: 'the service',
    remedy:
      'wait: sending resumes by itself; if it happens often, set RATE_LIMIT or ask the service for a higher limit',
    command: 'notices status',
  },
  address: {
    reason:
      'not the API answers, but a redirect, an HTML page or a certificate that does not verify',
    fault: 'our configuration',
    remedy: 'check BASE_URL, SEND_PATH, PROXY_URL and TLS_CA_FILE',
    command: 'notices doctor',
  },
  template: {
    reason: 'the service refuses notice after notice of this template alike, and accepts none',
    fault: 'the template',
    remedy:
      'check the template at the service, its sender keys and its approval; probes find by themselves when it is accepted',
    command: 'notices status',
  },
  manual: {
    reason: 'held manually',
    fault: 'a person',
    remedy: 'lift the hold when its cause is gone',
    command: 'notices hold lift',
  },
  restored: {
    reason:
      'Redis contains an old copy of the queue, or may: notices sent since the copy was made would be sent again',
    fault: 'a person',
    remedy:
      '"notices restored" lists what may be sent again; park it, or cancel or pause its batches, then lift the hold',
    command: 'notices restored',
  },
} as const satisfies Record<string, Remedy & { readonly reason: string }>;

/** Whose fault a hold is where its code says more than its kind; each has a section in docs/operating.md. */
const CODE_FAULTS = {
  INVALID_ACCESS_KEY: 'our configuration',
  ACCESS_KEY_NOT_APPROVED: 'the service',
  IP_NOT_ALLOWED: 'our configuration',
  SERVICE_REFUSED: 'the service',
  SERVICE_UNREACHABLE: 'the network',
  TOKEN_INVALID: 'our configuration',
  TOKEN_UNAVAILABLE: 'the service',
} as const satisfies Partial<Record<ErrorCode, HoldFault>>;

const isOfCode = (code: string): code is keyof typeof CODE_FAULTS =>
  Object.hasOwn(CODE_FAULTS, code);

/** Codes of a certificate that cannot be verified. */
const CERTIFICATE = /^(?:CERT|DEPTH_ZERO|ERR_TLS|SELF_SIGNED|UNABLE_TO)/;

/** What to do about a hold, and the section of docs/operating.md that says more. */
export function remedyOf(kind: HoldKind, code: string): Remedy & { readonly section: string } {
  if (kind !== 'manual' && isOfCode(code)) {
    const { remedy: sentence } = ERROR_CODES[code];
    const words = sentence.charAt(0).toLowerCase() + sentence.slice(1, -1);
    const ofCode = CODE_FAULTS[code];
    return { fault: ofCode, remedy: words, command: 'notices doctor', section: code.toLowerCase() };
  }
  const { fault, remedy, command } = HOLDS[kind];
  if (kind === 'address' && CERTIFICATE.test(code)) {
    const name = 'name its authority in TLS_CA_FILE, or have the certificate renewed';
    return { fault, remedy: name, command, section: kind };
  }
  // The code is about the notices, not about the key pair.
  if (kind === 'credentials' && /TEMPLATE|SENDER/.test(code)) {
    return { ...HOLDS.template, section: 'template' };
  }
  return { fault, remedy, command, section: kind };
}

export type HoldKind = keyof typeof HOLDS;

export const holdKind = z.enum(Object.keys(HOLDS) as [HoldKind, ...HoldKind[]]);

/** Whether a job checks from time to time if the hold is over; otherwise only a person ends it. */
export function isProbed(kind: HoldKind): boolean {
  return kind !== 'manual' && kind !== 'restored';
}

/** A hold as it is stored in Redis. Times are Redis time, in milliseconds since the epoch. */
export interface Hold {
  readonly kind: HoldKind;
  /** The code of the service or of ours that caused it, for the log and the pages. */
  readonly code: string;
  readonly since: number;
  /** When one job is sent as a probe; of a template some of its notices. */
  readonly nextProbeAt: number;
  /** Probes, of a template rounds of them, that failed in a row; the time to the next one grows with it. */
  readonly failedProbes: number;
}

/** Longest reason of a manual hold, in characters; it is stored as the code of the hold. */
export const MAX_HOLD_REASON = 100;

/**
 * The name under which notices of a template are held: with their sender keys, since the service refuses what is sent
 * by an unknown sender, too, and those of another sender are not at fault. A person holds the template alone.
 */
export function heldName(
  templateCode: string,
  { senderKey, chatSenderKey }: { readonly senderKey?: unknown; readonly chatSenderKey?: unknown },
): string {
  if (senderKey === undefined && chatSenderKey === undefined) return `${templateCode}\n`;
  const senders = JSON.stringify([senderKey, chatSenderKey]);
  return `${templateCode}\n${createHash('sha256').update(senders).digest('hex').slice(0, 8)}`;
}

/** The template in such a name. */
export function heldTemplate(name: string): string {
  const end = name.lastIndexOf('\n');
  return end < 0 ? name : name.slice(0, end);
}
