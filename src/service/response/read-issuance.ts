import { isTokenValue, type IssuedToken } from '../../contracts/token.ts';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { callerAddress } from './caller-address.ts';
import { headerOf } from '../http/exchange.ts';
import type { WireFacts } from '../http/exchange.ts';
import { AnswerMask, piecesOfSecrets } from './mask-text.ts';
import { own, readAnswer, type ReadAnswer } from './read-answer.ts';
import { refusalError } from './service-refusal.ts';
import { tokenLifetime } from './token-lifetime.ts';

/** Statuses of a wrong path rather than a wrong request. */
const WRONG_PLACE = new Set([404, 405, 407, 410]);
/** Statuses below 500 after which the same request may do. */
const PASSING = new Set([408, 425, 429]);

/**
 * Turns what was seen of an issuance (service-api, POST {base_url}/api/v2/token) into the token.
 *
 * @param facts of the last try; undefined when there was none
 * @param secrets never to appear in an error
 * @param nowMs the local clock
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
  const answer = readAnswer(facts, new AnswerMask([piecesOfSecrets(secrets)]));
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
  if (status === 401 || status === 403) throw refusalError(refused);
  if (status >= 500 || PASSING.has(status)) {
    throw new NoticeQueueError('TOKEN_UNAVAILABLE', `The token endpoint answered HTTP ${status}.`);
  }
  if (status < 400 || WRONG_PLACE.has(status) || answer.body === 'html') {
    throw invalid(`The token endpoint answered HTTP ${status} (body: ${bodyOf(answer)}).`);
  }
  throw refusalError(refused);
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
