import { COUNTRY_NAMES } from '../../format/country.ts';
import { DELIVERY_POLICIES } from '../../contracts/outcome.ts';
import { choice, integer, secret, variable, duration } from '../variable.ts';

/** 32 bytes in base64 (43 characters, with or without the padding, either alphabet) or hex. */
const key = () =>
  secret(
    /^(?:[0-9A-Fa-f]{64}|[\w+/-]{42}[AEIMQUYcgkosw048]=?)$/,
    '32 random bytes as base64 or as 64 hexadecimal digits',
  );

/** How notices and contact lists are enqueued and kept. */
export const queueVariables = {
  chunkSize: variable('CHUNK_SIZE', integer('contacts', 1, 10_000).default(1_000), {
    description: 'Maximum number of contacts of a list in one chunk, which is one send request.',
    note: 'Raised: one unknown outcome affects more contacts, and the service may reject the request as too large. Lowered: more requests.',
  }),
  country: variable('COUNTRY', choice(COUNTRY_NAMES).exactOptional(), {
    description:
      'Country whose national phone numbers lists have: an import repairs numbers with its country code or without their leading zero, and refuses others. Without it numbers have 8 to 15 digits.',
  }),
  repeatWindowMs: variable('REPEAT_WINDOW', duration(0, 7_776_000_000).default(604_800_000), {
    description:
      'For how long a list is compared with later lists of the same template: one with numbers of it is refused unless the import says what to do. 0 for not at all.',
    note: 'Takes 4 bytes of Redis memory for each contact of a list for so long.',
  }),
  delivery: variable('DELIVERY', choice(DELIVERY_POLICIES).default('at-least-once'), {
    description:
      'What happens to notices and contacts of lists whose outcome is unknown: at-least-once sends them again, at-most-once keeps them aside until an operator decides.',
    note: 'at-least-once: the service may accept such notices twice. at-most-once: a connection of its own for each request, and two more round trips to Redis for each single notice.',
  }),
  idempotencyWindowMs: variable(
    'IDEMPOTENCY_WINDOW_MS',
    duration(1_000, 2_592_000_000).default(86_400_000),
    {
      description:
        'How long an idempotency key is remembered after the time at which its notice is due.',
      note: 'Raised: more memory in Redis. Lowered: a caller that retries later, or after a hold of this length, sends a second time.',
    },
  ),
  highWater: variable('HIGH_WATER', integer('contacts', 1, 1_000_000_000).default(1_000_000), {
    description:
      'Number of batch contacts waiting in Redis at which imports pause until workers have sent some.',
    note: 'Raised: more memory in Redis, about 25 bytes per contact. Lowered: workers may run out of jobs while an import catches up.',
  }),
  keepFailedMs: variable('KEEP_FAILED_MS', duration(60_000, 31_536_000_000).default(604_800_000), {
    description:
      'How long what was not accepted is kept for a person to decide on: rejected and unknown notices, and a batch with its counters and contacts after its end. As long a notice or a list can be found by phone number, with FIND_KEY. Producers, importers and workers need the same.',
    note: 'Raised: more memory in Redis, and phone numbers are kept longer. Lowered: a failure over a long weekend is deleted before an operator sees it, and importing the same list again sends it again sooner.',
  }),
  payloadKey: variable('PAYLOAD_KEY', key().exactOptional(), {
    description:
      'Key that encrypts the notices and the contacts of batches that Redis stores (AES-256-GCM); producers, importers, workers and ops servers need the same key. Without it they are not encrypted. Templates, times, states and numbers of contacts are readable without it.',
  }),
  payloadKeyPrevious: variable('PAYLOAD_KEY_PREVIOUS', key().exactOptional(), {
    description:
      'The previous PAYLOAD_KEY, for rotation: it decrypts what it encrypted, and encrypts nothing new.',
  }),
  findKey: variable('FIND_KEY', key().exactOptional(), {
    description:
      'Key that hashes phone numbers (HMAC-SHA256) so that `notices find` can search for one; producers, importers and the searching program need the same key. Without it no search index is kept.',
    note: 'The index takes about 4 bytes of Redis memory for each contact of a batch and 100 to 170 for each contact of a single notice, for KEEP_FAILED_MS. Numbers hashed with another key are not found.',
  }),
};
