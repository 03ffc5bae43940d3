import * as z from 'zod';
import { checked, fields, flag, integer, oneOf, text, texts } from './check.ts';
import { faultSchema } from './faults/fault.ts';
import { appSettings } from './service/apps.ts';
import { DEAD_TOKEN_CODES } from './service/refusals.ts';

const MAX_LATENCY_MS = 3_600_000;
const MAX_KEPT = 10_000_000;

const optionsSchema = fields({
  /** Address to listen on. On other addresses than loopback the control API needs `controlKey`. */
  host: text().default('127.0.0.1'),
  /** Port to listen on; 0 takes a free one. */
  port: integer(0, 65_535).default(0),
  accessKey: text().default('emulator-access-key'),
  secretKey: text().default('emulator-secret-key'),
  approved: appSettings.approved.default(true),
  allowlist: appSettings.allowlist.default([]),
  tokenMode: appSettings.tokenMode.default('single'),
  tokenLifetimeMs: appSettings.tokenLifetimeMs.default(86_400_000),
  /**
   * Where a caller finds the expiry of a token. `none`: nowhere, the response has only the documented
   * `data.token`; `answer`: in `data.expiresAt`; `jwt`: in `exp` inside the token.
   */
  showExpiry: oneOf(['none', 'answer', 'jwt']).default('none'),
  /** Codes for an invalid token: the documented one, or those seen at real services. */
  deadTokenCodes: oneOf(DEAD_TOKEN_CODES).default('documented'),
  /** Delay of every response of the token and send endpoints, in milliseconds; requests are processed on arrival. */
  latencyMs: integer(0, MAX_LATENCY_MS).default(0),
  /** A send with more contacts gets 422 TOO_MANY_CONTACTS. */
  maxContactsPerRequest: integer(1, Number.MAX_SAFE_INTEGER).default(Number.MAX_SAFE_INTEGER),
  /** Template codes that get 404 TEMPLATE_NOT_FOUND. */
  unknownTemplates: texts().default([]),
  /** A send with one of these numbers gets 400 INVALID_CONTACT. */
  rejectContacts: texts().default([]),
  /** Whether numbers are recorded; false keeps the totals only. */
  record: flag().default(true),
  /** Number of last accepted contacts that are kept with their variables, template and request. */
  keepDetails: integer(0, MAX_KEPT).default(10_000),
  /** Faults that are active from the start. */
  faults: z.array(faultSchema, 'expected a list').readonly().default([]),
  /** When set, every control request must have it in `X-Control-Key`. */
  controlKey: text().optional(),
});

/** Settings that differ from {@link EMULATOR_DEFAULTS}. */
export type EmulatorOptions = Readonly<z.input<typeof optionsSchema>>;

export type EmulatorSettings = Readonly<z.output<typeof optionsSchema>>;

/** The settings of an emulator without options. The help of its command shows them. */
export const EMULATOR_DEFAULTS: EmulatorSettings = optionsSchema.parse({});

/**
 * Adds the defaults and checks every value.
 *
 * @throws TypeError that names the option
 */
export const settingsFrom = (options: EmulatorOptions): EmulatorSettings =>
  checked(optionsSchema, options);
