import { createHash } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import type * as z from 'zod';
import { checked, fields, flag, integer, oneOf, text, texts } from '../check.ts';

/** Longest lifetime of a token: the limit of Node.js timers. */
const MAX_TOKEN_LIFETIME_MS = 2_147_483_647;

/** What can be set of an app. A new app has it from the options of the emulator. */
export const appSettings = {
  /** Others get the error ACCESS_KEY_NOT_APPROVED, and keep their tokens, which are valid again after the approval. */
  approved: flag(),
  /**
   * IP addresses and networks from which it may call; empty allows any (service-api, Authentication rule 6). The
   * format of the service is not documented.
   */
  allowlist: texts().superRefine((entries, context) => {
    for (const entry of entries) {
      if (addTo(new BlockList(), entry)) continue;
      context.addIssue(`expected an IP address or a network such as 10.0.0.0/8, got "${entry}"`);
    }
  }),
  /** `single`: each issuance invalidates the previous token. `many`: all tokens stay valid. */
  tokenMode: oneOf(['single', 'many']),
  /** Lifetime of tokens issued from now on, in milliseconds. */
  tokenLifetimeMs: integer(1, MAX_TOKEN_LIFETIME_MS),
};

/** Creates an app, or changes the given fields of the app with this access key. */
const changeSchema = fields({
  // In a Basic credential the access key ends at the first colon.
  accessKey: text().refine((key) => !key.includes(':'), 'expected no colon in it'),
  /** Required for a new app. A new secret of an existing app revokes its tokens. */
  secretKey: text().optional(),
  approved: appSettings.approved.exactOptional(),
  allowlist: appSettings.allowlist.exactOptional(),
  tokenMode: appSettings.tokenMode.exactOptional(),
  tokenLifetimeMs: appSettings.tokenLifetimeMs.exactOptional(),
});

export type AppChange = Readonly<z.input<typeof changeSchema>>;

type AppSettings = Readonly<z.output<z.ZodObject<typeof appSettings>>>;

export interface App extends AppSettings {
  /** Names the app in the record: first 16 hex digits of the SHA-256 of its access key. */
  readonly id: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

/** Why an app may not call; undefined when it may. Rows two and three of service-api, Errors. */
export function denialOf(
  { approved, allowlist }: App,
  address: string,
): 'ACCESS_KEY_NOT_APPROVED' | 'IP_NOT_ALLOWED' | undefined {
  if (!approved) return 'ACCESS_KEY_NOT_APPROVED';
  if (allowlist.length === 0) return undefined;
  const list = new BlockList();
  for (const entry of allowlist) addTo(list, entry);
  // A server that listens on IPv6 sees IPv4 callers as `::ffff:10.0.0.1`.
  const plain = address.replace(/^::ffff:(?=.*\.)/, '');
  return isIP(plain) > 0 && list.check(plain, familyOf(plain)) ? undefined : 'IP_NOT_ALLOWED';
}

const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** @returns false for an entry that is neither an address nor a network */
function addTo(list: BlockList, entry: string): boolean {
  const [, address = '', bits] = /^([^/]+)(?:\/([0-9]{1,3}))?$/.exec(entry) ?? [];
  try {
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
    return true;
  } catch {
    return false;
  }
}

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;

/** Parses `Basic <base64 of "accessKey:secretKey">`; undefined for any other header. */
export function credentialsIn(
  header: string | undefined,
): { readonly accessKey: string; readonly secretKey: string } | undefined {
  const encoded = BASIC.exec(header ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  return colon < 0
    ? undefined
    : { accessKey: pair.slice(0, colon), secretKey: pair.slice(colon + 1) };
}

/** The existing apps. The first one is the default. */
export class AppBook {
  readonly #apps = new Map<string, App>();
  readonly #defaults: AppSettings;

  constructor({ approved, allowlist, tokenMode, tokenLifetimeMs }: AppSettings) {
    this.#defaults = { approved, allowlist, tokenMode, tokenLifetimeMs };
  }

  find(accessKey: string): App | undefined {
    return this.#apps.get(accessKey);
  }

  /** @throws RangeError when no app has this access key */
  named(accessKey: string | undefined): App {
    const app =
      accessKey === undefined ? this.#apps.values().next().value : this.#apps.get(accessKey);
    if (app === undefined) throw new RangeError('accessKey: no app has this access key');
    return app;
  }

  /** @throws TypeError that names the field; nothing is changed then */
  set(given: AppChange): { readonly app: App; readonly secretChanged: boolean } {
    const change = checked(changeSchema, given);
    const { accessKey } = change;
    const before = this.#apps.get(accessKey);
    const secretKey = checked(text(), change.secretKey ?? before?.secretKey, 'secretKey');
    const id = createHash('sha256').update(accessKey).digest('hex').slice(0, 16);
    const app = { ...this.#defaults, ...before, ...change, secretKey, id };
    this.#apps.set(accessKey, app);
    return { app, secretChanged: before !== undefined && before.secretKey !== secretKey };
  }
}
