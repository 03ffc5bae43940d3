import type { RefusalCode } from './refusals.ts';
import type { ContactObject, SendBody } from './send-body.ts';

export class LastItems<T> {
  readonly #capacity: number;
  #items: T[] = [];

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  add(item: T): void {
    this.#items.push(item);
    // Twice as many, so that they are moved once in so many.
    if (this.#items.length > 2 * this.#capacity) this.#items = this.all();
  }

  /** Oldest first. */
  all(): T[] {
    return this.#items.slice(Math.max(0, this.#items.length - this.#capacity));
  }
}

export interface NumberCount {
  readonly contact: string;
  readonly count: number;
}

export interface AcceptedContact {
  readonly contact: string;
  /** The fields of the contact except its number. */
  readonly vars: Readonly<Record<string, unknown>>;
  readonly templateCode: string;
  /** Every field of the request body except the contacts. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The id in `data.requestId` of the response. */
  readonly requestId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

interface Accepted {
  readonly contact: ContactObject;
  readonly request: { readonly body: SendBody; readonly id: string; readonly at: number };
}

/**
 * An exact record of accepted contacts. A million contacts take about 64 MB: one map from number to count,
 * in the order of first arrival, and full details of the last contacts only.
 */
export class AcceptanceRecord {
  readonly #keepNumbers: boolean;
  readonly #counts = new Map<string, number>();
  readonly #details: LastItems<Accepted>;
  readonly #waiting: { readonly total: number; readonly run: () => void }[] = [];
  #requests = 0;
  #contacts = 0;
  #twice = 0;

  constructor(keepNumbers: boolean, keepDetails: number) {
    this.#keepNumbers = keepNumbers;
    this.#details = new LastItems(keepNumbers ? keepDetails : 0);
  }

  accept(id: string, at: number, body: SendBody): void {
    this.#requests += 1;
    this.#contacts += body.contacts.length;
    if (this.#keepNumbers) this.#count({ body: { ...body, contacts: [] }, id, at }, body.contacts);
    while (this.#waiting[0] !== undefined && this.#waiting[0].total <= this.#contacts) {
      this.#waiting.shift()?.run();
    }
  }

  counts() {
    return {
      requests: this.#requests,
      contacts: this.#contacts,
      distinct: this.#keepNumbers ? this.#counts.size : null,
      twice: this.#keepNumbers ? this.#twice : null,
    };
  }

  *numbers(onlyTwice: boolean): Generator<NumberCount, void> {
    for (const [contact, count] of this.#counts) {
      if (!onlyTwice || count > 1) yield { contact, count };
    }
  }

  details(): AcceptedContact[] {
    return this.#details.all().map(({ contact: { contact, ...vars }, request }) => ({
      contact,
      vars,
      templateCode: request.body.templateCode,
      fields: request.body.fields,
      requestId: request.id,
      at: request.at,
    }));
  }

  /** Calls back once the total of accepted contacts reaches a number; at once if it already has. */
  whenTotal(total: number, run: () => void): void {
    if (total <= this.#contacts) {
      run();
      return;
    }
    this.#waiting.push({ total, run });
    this.#waiting.sort((a, b) => a.total - b.total);
  }

  #count(request: Accepted['request'], contacts: readonly ContactObject[]): void {
    for (const contact of contacts) {
      const count = (this.#counts.get(contact.contact) ?? 0) + 1;
      this.#counts.set(contact.contact, count);
      if (count === 2) this.#twice += 1;
      this.#details.add({ contact, request });
    }
  }
}

/** One token request, or one issuance by another program. */
export interface Issuance {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Id of the app: first 16 hex digits of the SHA-256 of its access key; null for an unknown key. */
  readonly app: string | null;
  /** Id of the token: first 16 hex digits of its SHA-256; null if none was issued. */
  readonly token: string | null;
  readonly outcome: 'issued' | RefusalCode;
  /** True where the control API issued it, as another program that shares the app would. */
  readonly foreign: boolean;
}

/** Exact counts since the start or the last reset. */
export interface RecordSummary {
  readonly requests: number;
  /** Contacts accepted, repetitions included. */
  readonly contacts: number;
  /** Different numbers accepted; null when numbers are not recorded. */
  readonly distinct: number | null;
  /** Numbers accepted more than once; null when numbers are not recorded. */
  readonly twice: number | null;
  readonly tokens: {
    /** Tokens issued to callers of the token endpoint. */
    readonly issued: number;
    /** Rejected requests to the token endpoint. */
    readonly refused: number;
    /** Tokens issued by the control API as a foreign issuer. */
    readonly foreign: number;
  };
  /** Number of revocations that invalidated at least one valid token. */
  readonly revocations: number;
  /**
   * Responses of each endpoint by code, SUCCESS for a processed request, without those that a fault kept from being
   * processed.
   */
  readonly answers: Readonly<Record<'token' | 'send', Readonly<Record<string, number>>>>;
}
