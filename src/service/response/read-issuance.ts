import { isIP } from 'node:net';
import { ERROR_CODES, NoticeQueueError, type ErrorCode } from '../../contracts/errors.ts';
import { sizeOfJson } from '../../contracts/parse-input.ts';
import { isTokenValue, type IssuedToken } from '../../contracts/token.ts';
import { AnswerMask, piecesOfSecrets } from './mask-text.ts';
import { own, readAnswer, type ReadAnswer } from './read-answer.ts';
import { tokenLifetime } from './token-lifetime.ts';
import { headerOf, type WireFacts } from '../http/transport.ts';

type RefusalFacts = Pick<
  ServiceRefusalError,
  'status' | 'serviceCode' | 'traceId' | 'callerAddress'
>;

/** The service refused to issue a token. The message names the cause and the remedy; code and trace id are checked. */
export class ServiceRefusalError extends NoticeQueueError {
  override readonly name = 'ServiceRefusalError';
  readonly status: number;
  readonly serviceCode: string | undefined;
  readonly traceId: string | undefined;
  /** The caller's address as the service saw it, if its answer contains it. */
  readonly callerAddress: string | undefined;

  constructor(facts: RefusalFacts) {
    const code = codeOfRefusal(facts);
    const { status, serviceCode, traceId } = facts;
    const named = [String(status), serviceCode].filter((part) => part !== undefined).join(' ');
    const trace = traceId === undefined ? '' : ` (trace id ${traceId})`;
    super(code, `The issuance was refused with ${named}${trace}. ${ERROR_CODES[code].meaning}`);
    this.status = status;
    this.serviceCode = serviceCode;
    this.traceId = traceId;
    this.callerAddress = facts.callerAddress;
  }
}

/**
 * The documented codes decide whatever the status; a 401 without one still means a wrong key (service-api, Errors:
 * meaning of the statuses).
 */
function codeOfRefusal({ status, serviceCode }: RefusalFacts): ErrorCode {
  switch (serviceCode) {
    case 'INVALID_ACCESS_KEY':
    case 'ACCESS_KEY_NOT_APPROVED':
    case 'IP_NOT_ALLOWED':
      return serviceCode;
    default:
      return status === 401 ? 'INVALID_ACCESS_KEY' : 'SERVICE_REFUSED';
  }
}

/** Statuses of a wrong path rather than a wrong request. */
const WRONG_PLACE = new Set([404, 405, 407, 410]);
/** Statuses below 500 after which the same request may do. */
const PASSING = new Set([408, 425, 429]);

/**
 * Turns what was seen of an issuance (service-api, POST {base_url}/api/v2/token) into the token.
 *
 * @throws ServiceRefusalError when the service refused the key pair, the app or the caller
 * @throws NoticeQueueError SERVICE_UNREACHABLE, TOKEN_UNAVAILABLE or TOKEN_INVALID
 */
export function readIssuance(
  facts: WireFacts | undefined,
  secrets: readonly string[],
  nowMs: number,
): IssuedToken {
  if (facts?.status === undefined) throw unanswered(facts);
  const { status, headers } = facts;
  const answer = readAnswer(facts, () => new AnswerMask([piecesOfSecrets(secrets)]));
  if (status >= 200 && status < 300) {
    if (facts.failure !== undefined) {
      throw new NoticeQueueError('TOKEN_UNAVAILABLE', 'The answer to the issuance was cut off.');
    }
    const value = own(own(answer.json, 'data'), 'token');
    if (!isTokenValue(value)) {
      throw invalid(`HTTP ${status} brought no usable data.token (body: ${bodyOf(answer)}).`);
    }
    const expiresInMs = tokenLifetime(answer.json, value, headerOf(headers, 'date'), nowMs);
    return expiresInMs === undefined ? { value } : { value, expiresInMs };
  }

  const refused = {
    status,
    serviceCode: answer.code,
    traceId: answer.traceId,
    callerAddress: callerAddress(answer.json),
  };
  if (status === 401 || status === 403) throw new ServiceRefusalError(refused);
  if (status >= 500 || PASSING.has(status)) {
    throw new NoticeQueueError('TOKEN_UNAVAILABLE', `The token endpoint answered HTTP ${status}.`);
  }
  if (status < 400 || WRONG_PLACE.has(status) || answer.body === 'html') {
    throw invalid(`The token endpoint answered HTTP ${status} (body: ${bodyOf(answer)}).`);
  }
  throw new ServiceRefusalError(refused);
}

/** What the body is; where it cannot be read, by which header. */
const bodyOf = ({ body, message }: ReadAnswer): string =>
  body === 'broken' && message !== undefined ? `${body}, ${message}` : body;

function unanswered(facts: WireFacts | undefined): NoticeQueueError {
  const cause = facts?.failureCode ?? facts?.failure ?? 'no try was made';
  if (facts?.started === true) {
    return new NoticeQueueError(
      'TOKEN_UNAVAILABLE',
      `The token endpoint did not answer (${cause}).`,
    );
  }
  if (facts === undefined || facts.failure === 'aborted') {
    return new NoticeQueueError('TOKEN_UNAVAILABLE', `The issuance was given up (${cause}).`);
  }
  return new NoticeQueueError(
    'SERVICE_UNREACHABLE',
    `No connection to the token endpoint was made (${cause}).`,
  );
}

function invalid(detail: string): NoticeQueueError {
  return new NoticeQueueError('TOKEN_INVALID', detail);
}

/** An address of either family inside any text. Bounded, because the text is foreign. */
const CANDIDATE =
  /(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)|(?<![\w.:])[0-9a-f:]{0,39}:[0-9a-f:.]{0,45}[0-9a-f](?![\w:]|\.\d)/gi;

/**
 * The caller's address as the service saw it, if its answer contains one. The shape of the answer is not
 * shown (service-api, Errors), so any text of it counts; an answer with several addresses, such as the
 * allowlist, has none, nor has one that is nested too deeply to be written.
 */
export function callerAddress(json: unknown): string | undefined {
  if (sizeOfJson(json) === Infinity) return undefined;
  const text = JSON.stringify(json) ?? '';
  const found = new Set(
    [...text.matchAll(CANDIDATE)].map(([one]) => one).filter((one) => isIP(one) > 0),
  );
  const [address, ...others] = found;
  return others.length === 0 ? address : undefined;
}
