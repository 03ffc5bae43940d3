import { type EmulatedAnswer, jsonAnswer, nextId, refusalAnswer } from './answer.ts';
import { AppBook, type AppChange, credentialsIn, denialOf } from './apps.ts';
import type { EmulatorSettings } from '../options.ts';
import { deadTokenCode, type RefusalCode } from './refusals.ts';
import { AcceptanceRecord, type Issuance, type IssuanceCounts, LastItems } from './record.ts';
import { readSendBody, type SendRules } from './send-body.ts';
import { type EmulatedToken, tokenIn, TokenBook } from './tokens.ts';

/** The parts of an HTTP request that the service uses. */
export interface EmulatedCall {
  readonly version: 'v1' | 'v2';
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly address: string;
  readonly body: Buffer;
}

/** Number of responses by code; SUCCESS for a processed request. */
export type AnswerCounts = Readonly<Record<string, number>>;

/** Last issuances that are kept; all are counted. */
const KEPT_ISSUANCES = 10_000;

/** The messaging service itself: apps, tokens and accepted contacts; independent of HTTP connections. */
export class MessagingService {
  readonly apps: AppBook;
  readonly record: AcceptanceRecord;
  readonly #issuances: LastItems<Issuance>;
  #issued = { issued: 0, refused: 0, foreign: 0 };
  readonly #tokens: TokenBook;
  readonly #settings: EmulatorSettings;
  readonly #rules: SendRules;
  #answers: { token: Record<string, number>; send: Record<string, number> };
  #revocations = 0;

  constructor(settings: EmulatorSettings) {
    this.#settings = settings;
    this.apps = new AppBook(settings);
    const { accessKey, secretKey } = settings;
    this.apps.set({ accessKey, secretKey });
    this.#tokens = new TokenBook(settings.showExpiry === 'jwt', Date.now);
    this.record = new AcceptanceRecord(settings.record, settings.keepDetails);
    this.#issuances = new LastItems(KEPT_ISSUANCES);
    this.#rules = {
      maxContactsPerRequest: settings.maxContactsPerRequest,
      unknownTemplates: new Set(settings.unknownTemplates),
      rejectContacts: new Set(settings.rejectContacts),
    };
    this.#answers = { token: {}, send: {} };
  }

  /** Handles a request to the token endpoint (service-api, Endpoints); the same on v1 and v2. */
  issue(call: EmulatedCall): EmulatedAnswer {
    const credentials = credentialsIn(call.authorization);
    const found = credentials === undefined ? undefined : this.apps.find(credentials.accessKey);
    const app = found?.secretKey === credentials?.secretKey ? found : undefined;
    let refusal: RefusalCode | undefined;
    if (app === undefined) refusal = 'INVALID_ACCESS_KEY';
    else refusal = denialOf(app, call.address);
    if (refusal === undefined && call.body.length > 0) refusal = 'UNEXPECTED_BODY';

    const token = app !== undefined && refusal === undefined ? this.#tokens.issue(app) : undefined;
    this.#issuance({
      at: Date.now(),
      app: found?.id ?? null,
      token: token?.id ?? null,
      outcome: refusal ?? 'issued',
      foreign: false,
    });
    return this.#counted(
      'token',
      token === undefined ? refusalAnswer(refusal ?? 'EMULATOR_FAILED') : this.#tokenAnswer(token),
    );
  }

  /** Handles a request to the send endpoint (service-api, Endpoints). */
  send(call: EmulatedCall): EmulatedAnswer {
    return this.#counted('send', this.#send(call));
  }

  #send(call: EmulatedCall): EmulatedAnswer {
    const bearer = tokenIn(call.authorization, call.version);
    const judged = bearer === undefined ? undefined : this.#tokens.judge(bearer);
    if (judged?.state !== 'live' || judged.accessKey === undefined) {
      const why = judged === undefined || judged.state === 'live' ? 'malformed' : judged.state;
      return refusalAnswer(deadTokenCode(this.#settings.deadTokenCodes, why));
    }
    const denial = denialOf(this.apps.named(judged.accessKey), call.address);
    if (denial !== undefined) return refusalAnswer(denial);
    const body = readSendBody(call.contentType, call.body.toString('utf8'), this.#rules);
    if ('refusal' in body) return refusalAnswer(body.refusal, body.detail);

    const requestId = nextId('req');
    this.record.accept(requestId, Date.now(), body);
    const data = { acceptedCount: body.contacts.length, requestId };
    return jsonAnswer(200, 'SUCCESS', { code: 'SUCCESS', data });
  }

  /** Creates or changes an app. A new secret means a new key pair: the app's tokens are revoked. */
  setApp(change: AppChange): void {
    const { app, secretChanged } = this.apps.set(change);
    if (secretChanged) this.revoke(app.accessKey);
  }

  /** Issues a token as another program that shares the app would. */
  issueForeign(accessKey: string | undefined): EmulatedToken {
    const app = this.apps.named(accessKey);
    const token = this.#tokens.issue(app);
    this.#issuance({
      at: Date.now(),
      app: app.id,
      token: token.id,
      outcome: 'issued',
      foreign: true,
    });
    return token;
  }

  #issuance(issuance: Issuance): void {
    const outcome = issuance.outcome === 'issued' ? 'issued' : 'refused';
    this.#issued[issuance.foreign ? 'foreign' : outcome] += 1;
    this.#issuances.add(issuance);
  }

  /** The last issuances and refusals, oldest first. */
  issuances(): Issuance[] {
    return this.#issuances.all();
  }

  issuanceCounts(): IssuanceCounts {
    return { ...this.#issued };
  }

  /** Revokes the valid tokens of one app or of all; returns their number. */
  revoke(accessKey: string | undefined): number {
    const revoked = this.#tokens.revoke(accessKey);
    if (revoked > 0) this.#revocations += 1;
    return revoked;
  }

  /** Responses of each endpoint by code, without requests that a fault kept from being processed. */
  get answers(): { readonly token: AnswerCounts; readonly send: AnswerCounts } {
    return { token: { ...this.#answers.token }, send: { ...this.#answers.send } };
  }

  /** Number of revocations that invalidated at least one valid token. */
  get revocations(): number {
    return this.#revocations;
  }

  /** Deletes the record; keeps apps and tokens. */
  clear(): void {
    this.record.clear();
    this.#issuances.clear();
    this.#issued = { issued: 0, refused: 0, foreign: 0 };
    this.#answers = { token: {}, send: {} };
    this.#revocations = 0;
  }

  #tokenAnswer({ value, expiresAt }: EmulatedToken): EmulatedAnswer {
    const expiry =
      this.#settings.showExpiry === 'answer'
        ? { expiresAt: new Date(expiresAt).toISOString() }
        : undefined;
    return jsonAnswer(200, 'SUCCESS', { data: { token: value, ...expiry } });
  }

  #counted(endpoint: 'token' | 'send', answer: EmulatedAnswer): EmulatedAnswer {
    const counts = this.#answers[endpoint];
    counts[answer.code] = (counts[answer.code] ?? 0) + 1;
    return answer;
  }
}
