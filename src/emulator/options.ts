import { EMULATOR_DEFAULTS } from './defaults.ts';
import { type AppDefaults, MAX_TOKEN_LIFETIME_MS, TOKEN_MODES } from './service/apps.ts';
import { fieldsOf, flagOf, integerIn, oneOf, textOf, textsOf } from './service/check-input.ts';
import { checkedFault, type Fault } from './faults/fault.ts';
import { DEAD_TOKEN_CODES, type DeadTokenCodes } from './service/refusals.ts';

/** Where a caller finds the expiry of a token. */
const EXPIRY_SHOWN = ['none', 'answer', 'jwt'] as const;
type ExpiryShown = (typeof EXPIRY_SHOWN)[number];

/** All settings; the defaults are {@link EMULATOR_DEFAULTS}. */
export interface EmulatorSettings extends AppDefaults {
  /** Address to listen on. On other addresses than loopback the control API needs {@link controlKey}. */
  readonly host: string;
  /** Port to listen on; 0 takes a free one. */
  readonly port: number;
  /** Access key of the first app. */
  readonly accessKey: string;
  /** Secret key of the first app. */
  readonly secretKey: string;
  /** Whether a new app is approved; others get the error ACCESS_KEY_NOT_APPROVED. */
  readonly approved: AppDefaults['approved'];
  /** IP addresses and networks from which a new app may call; empty allows any. */
  readonly allowlist: AppDefaults['allowlist'];
  /** `single`: each issuance invalidates the previous token of the app; `many`: all stay valid. */
  readonly tokenMode: AppDefaults['tokenMode'];
  /** Lifetime of a token in milliseconds, 1 to 2147483647. */
  readonly tokenLifetimeMs: AppDefaults['tokenLifetimeMs'];
  /**
   * Where a caller finds the expiry of a token. `none`: nowhere, the response has only the documented
   * `data.token`; `answer`: in `data.expiresAt`; `jwt`: in `exp` inside the token.
   */
  readonly showExpiry: ExpiryShown;
  /** Codes for an invalid token: the documented one, or those seen at real services. */
  readonly deadTokenCodes: DeadTokenCodes;
  /** Delay of every response of the token and send endpoints, in milliseconds; requests are processed on arrival. */
  readonly latencyMs: number;
  /** A send with more contacts gets 422 TOO_MANY_CONTACTS. */
  readonly maxContactsPerRequest: number;
  /** Template codes that get 404 TEMPLATE_NOT_FOUND. */
  readonly unknownTemplates: readonly string[];
  /** A send with one of these numbers gets 400 INVALID_CONTACT. */
  readonly rejectContacts: readonly string[];
  /** Whether numbers are recorded; false keeps the totals only. */
  readonly record: boolean;
  /** Number of last accepted contacts that are kept with their variables, template and request. */
  readonly keepDetails: number;
  /** Number of last issuances that are kept; all of them are counted. */
  readonly keepIssuances: number;
  /** Faults that are active from the start. */
  readonly faults: readonly Fault[];
  /** When set, every control request must have it in `X-Control-Key`. */
  readonly controlKey: string | undefined;
}

/** {@link EmulatorSettings} that differ from the defaults. */
export type EmulatorOptions = {
  readonly [Name in keyof EmulatorSettings]?: EmulatorSettings[Name] | undefined;
};

const DEFAULTS: EmulatorSettings = EMULATOR_DEFAULTS;

/** Longest response delay: one hour. */
const MAX_LATENCY_MS = 3_600_000;
const MAX_KEPT = 10_000_000;

/**
 * Adds the defaults and checks every value.
 *
 * @throws TypeError or RangeError that names the option
 */
export function settingsFrom(options: EmulatorOptions): EmulatorSettings {
  fieldsOf('emulator options', options, Object.keys(DEFAULTS));
  const value = (name: keyof EmulatorSettings): unknown =>
    options[name] === undefined ? DEFAULTS[name] : options[name];
  const integer = (name: keyof EmulatorSettings, min: number, max: number) =>
    integerIn(name, value(name), min, max);
  const maxContacts = value('maxContactsPerRequest');
  return {
    host: textOf('host', value('host')),
    port: integer('port', 0, 65_535),
    accessKey: textOf('accessKey', value('accessKey')),
    secretKey: textOf('secretKey', value('secretKey')),
    approved: flagOf('approved', value('approved')),
    allowlist: textsOf('allowlist', value('allowlist')),
    tokenMode: oneOf('tokenMode', value('tokenMode'), TOKEN_MODES),
    tokenLifetimeMs: integer('tokenLifetimeMs', 1, MAX_TOKEN_LIFETIME_MS),
    showExpiry: oneOf('showExpiry', value('showExpiry'), EXPIRY_SHOWN),
    deadTokenCodes: oneOf('deadTokenCodes', value('deadTokenCodes'), DEAD_TOKEN_CODES),
    latencyMs: integer('latencyMs', 0, MAX_LATENCY_MS),
    maxContactsPerRequest:
      maxContacts === Number.POSITIVE_INFINITY
        ? maxContacts
        : integer('maxContactsPerRequest', 1, Number.MAX_SAFE_INTEGER),
    unknownTemplates: textsOf('unknownTemplates', value('unknownTemplates')),
    rejectContacts: textsOf('rejectContacts', value('rejectContacts')),
    record: flagOf('record', value('record')),
    keepDetails: integer('keepDetails', 0, MAX_KEPT),
    keepIssuances: integer('keepIssuances', 0, MAX_KEPT),
    faults: listOf('faults', value('faults')).map(checkedFault),
    controlKey:
      options.controlKey === undefined ? undefined : textOf('controlKey', options.controlKey),
  };
}

function listOf(name: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError(`${name}: expected a list`);
  return value;
}
