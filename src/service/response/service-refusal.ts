import { ERROR_CODES, NoticeQueueError } from '../../contracts/errors.ts';
import type { ErrorCode } from '../../contracts/errors.ts';

/** What a refusal of an issuance is made of. Code and trace id are the service's own, checked. */
export interface RefusalFacts {
  readonly status: number;
  readonly serviceCode?: string | undefined;
  readonly traceId?: string | undefined;
  /** The caller's address as the service saw it, if its answer contains it. */
  readonly callerAddress?: string | undefined;
}

/** The service refused to issue a token. The message names the cause and the remedy. */
export class ServiceRefusalError extends NoticeQueueError {
  override readonly name: string = 'ServiceRefusalError';
  readonly status: number;
  /** The code in the service's answer, where it had one. */
  readonly serviceCode: string | undefined;
  readonly traceId: string | undefined;

  constructor(facts: RefusalFacts, code: ErrorCode = 'SERVICE_REFUSED') {
    const { status, serviceCode, traceId } = facts;
    const named = [String(status), serviceCode].filter((part) => part !== undefined).join(' ');
    const trace = traceId === undefined ? '' : ` (trace id ${traceId})`;
    super(code, `The issuance was refused with ${named}${trace}. ${ERROR_CODES[code].meaning}`);
    this.status = status;
    this.serviceCode = serviceCode;
    this.traceId = traceId;
  }
}

/** 401 INVALID_ACCESS_KEY: the key does not exist, or the secret is wrong (service-api, Errors). */
export class InvalidAccessKeyError extends ServiceRefusalError {
  override readonly name: string = 'InvalidAccessKeyError';

  constructor(facts: RefusalFacts) {
    super(facts, 'INVALID_ACCESS_KEY');
  }
}

/** 403 ACCESS_KEY_NOT_APPROVED: the app is still pending approval (service-api, Errors). */
export class AccessKeyNotApprovedError extends ServiceRefusalError {
  override readonly name: string = 'AccessKeyNotApprovedError';

  constructor(facts: RefusalFacts) {
    super(facts, 'ACCESS_KEY_NOT_APPROVED');
  }
}

/** 403 IP_NOT_ALLOWED: the call comes from outside the app's IP allowlist (service-api, Errors). */
export class IpNotAllowedError extends ServiceRefusalError {
  override readonly name: string = 'IpNotAllowedError';
  /** The caller's address as the service saw it, if its answer contains it. */
  readonly callerAddress: string | undefined;

  constructor(facts: RefusalFacts) {
    super(facts, 'IP_NOT_ALLOWED');
    this.callerAddress = facts.callerAddress;
  }
}

/**
 * The error for a refused issuance. The documented codes decide whatever the status; a 401 without
 * one still means a wrong key (service-api, Errors: meaning of the statuses).
 */
export function refusalError(facts: RefusalFacts): ServiceRefusalError {
  switch (facts.serviceCode) {
    case 'INVALID_ACCESS_KEY':
      return new InvalidAccessKeyError(facts);
    case 'ACCESS_KEY_NOT_APPROVED':
      return new AccessKeyNotApprovedError(facts);
    case 'IP_NOT_ALLOWED':
      return new IpNotAllowedError(facts);
    default:
      return facts.status === 401
        ? new InvalidAccessKeyError(facts)
        : new ServiceRefusalError(facts);
  }
}
