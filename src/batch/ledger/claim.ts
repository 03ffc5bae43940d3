import type { DeliveryPolicy } from '../../contracts/delivery.ts';

/** What a claim answered; nothing may be sent unless it is `send`. */
export type Claim =
  | {
      readonly kind: 'send';
      /** JSON of the send call's body without its contacts. */
      readonly frame: string;
      readonly payload: Buffer;
      /** Contacts in the payload. */
      readonly size: number;
      /** An earlier attempt may have been taken. */
      readonly maybe: boolean;
      readonly delivery: DeliveryPolicy;
      /** Whether a rejected chunk may be halved. */
      readonly bisect: boolean;
    }
  | { readonly kind: 'later'; readonly afterMs: number }
  | {
      readonly kind: 'lost' | 'gone' | 'paused' | 'cancelled' | 'settled' | 'expired' | 'parked';
    };
