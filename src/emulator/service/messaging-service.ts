import { type EmulatedAnswer, jsonAnswer, nextId, refusalAnswer } from './answer.ts';
import { type App, AppBook, type AppChange, credentialsIn, denialOf } from './apps.ts';
import type { EmulatorSettings } from '../options.ts';
import { deadTokenCode } from './refusals.ts';
import { AcceptanceRecord, type Issuance, LastItems, type RecordSummary } from './record.ts';
import { readSendBody, type SendRules } from './send-body.ts';
import { type EmulatedToken, tokenIn, TokenBook } from './tokens.ts';

export interface EmulatedCall {
  readonly version: 'v1' | 'v2';
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly address: string;
  readonly body: Buffer;
}

/** Last issuances that are kept; all are counted. */
const KEPT_ISSUANCES = 10_000;

/** The messaging service itself: apps, tokens and accepted contacts; independent of HTTP connections. */
export class MessagingService {
  readonly apps: AppBook;
  record: AcceptanceRecord;
  issuances = new LastItems<Issuance>(KEPT_ISSUANCES);
  readonly #tokens: TokenBook;
  readonly #settings: EmulatorSettings;
  readonly #rules: SendRules;
  #counts = noCounts();

  constructor(settings: EmulatorSettings) {
    this.#settings = settings;
    this.apps = new AppBook(settings);
    const { accessKey, secretKey } = settings;
    this.apps.set({ accessKey, secretKey });
    this.#tokens = new TokenBook(settings.showExpiry === 'jwt', Date.now);
    this.record = new AcceptanceRecord(settings.record, settings.keepDetails);
    this.#rules = {
      maxContactsPerRequest: settings.maxContactsPerRequest,
      unknownTemplates: new Set(settings.unknownTemplates),
      rejectContacts: new Set(settings.rejectContacts),
    };
  }

  /** Handles a request to the token endpoint (service-api, Endpoints); the same on v1 and v2. */
  issue(call: EmulatedCall): EmulatedAnswer {
    const credentials = credentialsIn(call.authorization);
    const found = credentials === undefined ? undefined : this.apps.find(credentials.accessKey);
    const app = found?.secretKey === credentials?.secretKey ? found : undefined;
    const denial = app === undefined ? 'INVALID_ACCESS_KEY' : denialOf(app, call.address);
    const refusal = denial ?? (call.body.length > 0 ? 'UNEXPECTED_BODY' : undefined);
    const token = app !== undefined && refusal === undefined ? this.#tokens.issue(app) : undefined;
    this.#noteIssuance(found, token, refusal ?? 'issued', false);
    const answer =
      token === undefined ? refusalAnswer(refusal ?? 'EMULATOR_FAILED') : this.#tokenAnswer(token);
    return this.#counted('token', answer);
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

  issueForeign(accessKey: string | undefined): EmulatedToken {
    const app = this.apps.named(accessKey);
    const token = this.#tokens.issue(app);
    this.#noteIssuance(app, token, 'issued', true);
    return token;
  }

  #noteIssuance(
    app: App | undefined,
    token: EmulatedToken | undefined,
    outcome: Issuance['outcome'],
    foreign: boolean,
  ): void {
    const kind = outcome === 'issued' ? 'issued' : 'refused';
    this.#counts.tokens[foreign ? 'foreign' : kind] += 1;
    const [appId, tokenId] = [app?.id ?? null, token?.id ?? null];
    this.issuances.add({ at: Date.now(), app: appId, token: tokenId, outcome, foreign });
  }

  revoke(accessKey: string | undefined): number {
    const revoked = this.#tokens.revoke(accessKey);
    if (revoked > 0) this.#counts.revocations += 1;
    return revoked;
  }

  summary(): RecordSummary {
    return { ...this.record.counts(), ...structuredClone(this.#counts) };
  }

  clear(): void {
    this.record = new AcceptanceRecord(this.#settings.record, this.#settings.keepDetails);
    this.issuances = new LastItems(KEPT_ISSUANCES);
    this.#counts = noCounts();
  }

  #tokenAnswer({ value, expiresAt }: EmulatedToken): EmulatedAnswer {
    const expiry =
      this.#settings.showExpiry === 'answer'
        ? { expiresAt: new Date(expiresAt).toISOString() }
        : undefined;
    return jsonAnswer(200, 'SUCCESS', { data: { token: value, ...expiry } });
  }

  #counted(endpoint: 'token' | 'send', answer: EmulatedAnswer): EmulatedAnswer {
    const counts = this.#counts.answers[endpoint];
    counts[answer.code] = (counts[answer.code] ?? 0) + 1;
    return answer;
  }
}

const noCounts = () => ({
  tokens: { issued: 0, refused: 0, foreign: 0 },
  revocations: 0,
  answers: { token: {} as Record<string, number>, send: {} as Record<string, number> },
});
