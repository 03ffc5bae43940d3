import type { Case } from '../case.ts';

const IDS = 'producer/planned-job.test.ts';
const ECHOED = 'service/echoed-values.test.ts';
const ANSWER = 'service/response/read-answer.test.ts';
const PROGRAM = 'canary/whole-program.fleet.test.ts';
const PAYLOAD = 'payload/chunk-payload.test.ts';
const SEALED = 'workers/send/sealed-notices.integration.test.ts';
const ERASE = 'erase/erase-number.integration.test.ts';
const PAGE = 'docs/privacy-page.test.ts';

/** Points 1 to 5: what is stored and shown of people. */
export const PRIVACY_CASES: readonly Case[] = [
  ['1 ids of jobs', IDS, 'a fingerprint depends on the secret of the account'],
  [
    '1 ids of batches',
    'batch/import/import-batch.integration.test.ts',
    'has an id from which the numbers of a list cannot be guessed',
  ],
  ['1 hashes of keys are no part of ids', IDS, 'an id of its own, with the same key too'],
  ['1 the search index', 'number-index/number-key.test.ts', 'can be computed without the key'],

  ['2 a body that is echoed with 200', ECHOED, 'an answer that accepts keeps no text'],
  ['2 a body that is echoed with 4xx', ECHOED, 'a message never contains a value that was sent'],
  ['2 logs, failedReason, the ledger, pages, the API for viewers', PROGRAM, 'are found in no form'],
  ['2 logs at level info', PROGRAM, '"level":"info"'],

  ['3 codes', ANSWER, "'INVALID_01098765432'"],
  ['3 codes with separators', ECHOED, "'INVALID_010-9876-5432'"],
  ['3 trace ids', ECHOED, '`c${NUMBER}`'],
  ['3 wide separators', ECHOED, 'bad 010 - 9876 - 5432'],
  ['3 parts of the numbers that were sent', ECHOED, 'six digits of a number: %s'],
  ['3 any spelling', 'fuzz/fuzz.test.ts', 'ANSWER_TARGETS'],

  ['4 payloads of batches', PAYLOAD, 'that is sealed shows nothing'],
  ['4 single notices, also delayed and failed ones', SEALED, 'without its number and variables'],
  ['4 an unsealed payload', SEALED, 'that is not encrypted is refused'],
  ['4 the switch of the transition', SEALED, 'PAYLOAD_KEY_PREVIOUS: KEY'],
  ['4 bound to the account', PAYLOAD, "account: 'other'"],
  ['4 bound to the batch', PAYLOAD, "batchSeal(by(key), 'b2')"],
  ['4 bound to the job', PAYLOAD, "place: 'job b'"],
  ['4 another list is planted', SEALED, 'nor a batch with those of another list'],
  ['4 doctor warns', 'cli/doctor/doctor.integration.test.ts', 'PAYLOAD_KEY is not set'],
  ['4 the page: what, where, in which form, how long', PAGE, 'has every key of Redis'],
  ['4 the page: who can see it', PAGE, 'names the Redis users who may read it'],
  [
    '4 the data of a person are found',
    'cli/notices/find.integration.test.ts',
    'shows the notice and the batch, and does not repeat the number',
  ],
  ['4 the data of a person are erased', ERASE, 'leaves nothing of a number in Redis'],
  ['4 an erasure is audited', ERASE, "what: 'erase', target:"],
  ['4 an erasure cancels what waits', ERASE, 'cancelled: 3'],
  ['4 an erasure removes fingerprints', ERASE, "'fingerprint of a chunk'"],

  ['5 masked numbers', 'notices/look-up.test.ts', '010******78'],
  ['5 masked numbers on the board', 'ops/mask-contact.test.ts', 'at any level'],
];
