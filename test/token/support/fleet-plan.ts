import type { TokenSettings } from '../../../src/token/token-record.ts';

/** What a process of the fleet is started with. */
export interface FleetPlan {
  readonly redisUrl: string;
  readonly prefix: string;
  readonly serviceUrl: string;
  /** Callers in the process that send beside each other. */
  readonly callers: number;
  readonly settings: TokenSettings;
}

/** What it tells at its end. */
export interface CallerCounts {
  sends: number;
  /** Attempts whose second call was refused too. */
  goneBack: number;
  errors: string[];
}
