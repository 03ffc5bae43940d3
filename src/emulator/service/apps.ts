import { createHash } from 'node:crypto';
import { type Allowlist, allowlistOf } from './allowlist.ts';
import { fieldsOf, flagOf, integerIn, oneOf, textOf, textsOf } from './check-input.ts';

/** `single`: each issuance invalidates the previous token. `many`: all tokens stay valid. */
export const TOKEN_MODES = ['single', 'many'] as const;
type TokenMode = (typeof TOKEN_MODES)[number];

/**
 * An app of the service, with its key pair.
 *
 * States: an app is *pending* or *approved*; {@link AppChange} `approved` changes it at any time. A
 * pending app gets ACCESS_KEY_NOT_APPROVED on issuance and on send, and keeps its tokens; once it is
 * approved, the same tokens are valid again.
 */
export interface App {
  /** Names the app in the record: first 16 hex digits of the SHA-256 of its access key. */
  readonly id: string;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly approved: boolean;
  readonly allowlist: Allowlist;
  readonly tokenMode: TokenMode;
  /** Lifetime of tokens issued from now on, in milliseconds. */
  readonly tokenLifetimeMs: number;
}

/** Creates an app, or changes the given fields of the app with this access key. */
export interface AppChange {
  readonly accessKey: string;
  /** Required for a new app. A new secret of an existing app revokes its tokens. */
  readonly secretKey?: string;
  readonly approved?: boolean;
  /** IP addresses and networks; empty allows any address. */
  readonly allowlist?: readonly string[];
  readonly tokenMode?: TokenMode;
  readonly tokenLifetimeMs?: number;
}

/** Defaults of a new app. */
export type AppDefaults = Required<Omit<AppChange, 'accessKey' | 'secretKey'>>;

/** Longest lifetime of a token: the limit of Node.js timers. */
export const MAX_TOKEN_LIFETIME_MS = 2_147_483_647;

const FIELDS = [
  'accessKey',
  'secretKey',
  'approved',
  'allowlist',
  'tokenMode',
  'tokenLifetimeMs',
] as const;

/** Why an app may not call; undefined when it may. Rows two and three of service-api, Errors. */
export function denialOf(
  app: App,
  address: string,
): 'ACCESS_KEY_NOT_APPROVED' | 'IP_NOT_ALLOWED' | undefined {
  if (!app.approved) return 'ACCESS_KEY_NOT_APPROVED';
  return app.allowlist.allows(address) ? undefined : 'IP_NOT_ALLOWED';
}

/** @throws TypeError or RangeError that names the field */
export function checkedAppChange(value: unknown): AppChange {
  assertAppChange(value);
  return value;
}

function assertAppChange(value: unknown): asserts value is AppChange {
  const change = fieldsOf('app', value, FIELDS);
  // In a Basic credential the access key ends at the first colon.
  if (textOf('accessKey', change['accessKey']).includes(':')) {
    throw new TypeError('accessKey: expected no colon in it');
  }
  const { secretKey, approved, allowlist, tokenMode, tokenLifetimeMs } = change;
  if (secretKey !== undefined) textOf('secretKey', secretKey);
  if (approved !== undefined) flagOf('approved', approved);
  if (allowlist !== undefined) allowlistOf(textsOf('allowlist', allowlist));
  if (tokenMode !== undefined) oneOf('tokenMode', tokenMode, TOKEN_MODES);
  if (tokenLifetimeMs !== undefined) {
    integerIn('tokenLifetimeMs', tokenLifetimeMs, 1, MAX_TOKEN_LIFETIME_MS);
  }
}

/** The existing apps. The first one is the default. */
export class AppBook {
  readonly #apps = new Map<string, App>();
  readonly #defaults: AppDefaults;

  constructor(defaults: AppDefaults) {
    this.#defaults = defaults;
  }

  find(accessKey: string): App | undefined {
    return this.#apps.get(accessKey);
  }

  /** @throws RangeError when no app has this access key */
  named(accessKey: string | undefined): App {
    const app =
      accessKey === undefined
        ? this.#apps.values().next().value
        : this.#apps.get(textOf('accessKey', accessKey));
    if (app === undefined) throw new RangeError('accessKey: no app has this access key');
    return app;
  }

  /** @throws TypeError or RangeError that names the field; nothing is changed then */
  set(change: AppChange): { readonly app: App; readonly secretChanged: boolean } {
    const { accessKey } = checkedAppChange(change);
    const before = this.#apps.get(accessKey);
    const secretKey = textOf('secretKey', change.secretKey ?? before?.secretKey);
    const kept = before ?? { ...this.#defaults, allowlist: allowlistOf(this.#defaults.allowlist) };
    const app: App = {
      id: createHash('sha256').update(accessKey).digest('hex').slice(0, 16),
      accessKey,
      secretKey,
      approved: change.approved ?? kept.approved,
      allowlist: change.allowlist === undefined ? kept.allowlist : allowlistOf(change.allowlist),
      tokenMode: change.tokenMode ?? kept.tokenMode,
      tokenLifetimeMs: change.tokenLifetimeMs ?? kept.tokenLifetimeMs,
    };
    this.#apps.set(accessKey, app);
    return { app, secretChanged: before !== undefined && before.secretKey !== secretKey };
  }
}
