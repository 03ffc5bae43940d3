import { onlySet } from './only-set.ts';
import type { Values } from './options.ts';

/** The ops server: where it listens, and who may come in. */
export interface OpsConfig {
  readonly host: string;
  readonly port: number;
  /** Entries `name:role:hash`, separated by commas or blanks. */
  readonly users?: string;
  readonly apiKeys?: string;
  readonly sessionKey?: string;
  readonly sessionMs: number;
  /** Addresses and subnets. */
  readonly trustedProxy: readonly string[];
  readonly userHeader?: string;
  readonly roleHeader?: string;
  readonly maxBodyBytes: number;
  readonly noticesPerMinute: number;
}

/** Reads it from the checked variables. */
export function opsConfig(values: Values): OpsConfig {
  return {
    host: values.OPS_HOST,
    port: values.OPS_PORT,
    sessionMs: values.OPS_SESSION_MS,
    trustedProxy: (values.OPS_TRUSTED_PROXY ?? '').split(/[\s,]+/).filter((part) => part !== ''),
    maxBodyBytes: values.OPS_MAX_BODY_BYTES,
    noticesPerMinute: values.OPS_NOTICES_PER_MINUTE,
    ...onlySet({
      users: values.OPS_USERS,
      apiKeys: values.OPS_API_KEYS,
      sessionKey: values.OPS_SESSION_KEY,
      userHeader: values.OPS_USER_HEADER,
      roleHeader: values.OPS_ROLE_HEADER,
    }),
  };
}
