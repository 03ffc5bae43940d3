import type { Case } from './case.ts';

/** Points of the external review: what was found, and the test that fails without its fix. */
export const REVIEW_CASES: readonly Case[] = [
  [
    '1 an id does not reveal numbers',
    'producer/plan-jobs.test.ts',
    'a fingerprint depends on the secret of the account',
  ],
  [
    '1 the id of a batch does not reveal numbers',
    'batch/import/import-batch.integration.test.ts',
    'has an id from which the numbers of a list cannot be guessed',
  ],
  [
    '2 a body that is echoed',
    'service/echoed-values.test.ts',
    'a message never contains a value that was sent',
  ],
  [
    '2 nothing is kept of an answer that accepts',
    'service/echoed-values.test.ts',
    'an answer that accepts keeps no text',
  ],
  ['3 a number in a code', 'service/response/read-answer.test.ts', "'INVALID_01098765432'"],
  ['3 a number with separators', 'service/response/read-answer.test.ts', "'one with separators'"],
  ['3 a number in any spelling', 'fuzz/fuzz.test.ts', 'ANSWER_TARGETS'],
  [
    '4 payloads of batches are sealed',
    'payload/chunk-payload.test.ts',
    'that is sealed shows nothing',
  ],
  [
    '4 single notices are sealed, delayed and failed ones, too',
    'workers/send/sealed-notices.integration.test.ts',
    'is stored without its number and variables',
  ],
  [
    '4 an unsealed payload is refused once there is a key',
    'workers/send/sealed-notices.integration.test.ts',
    'that is not encrypted waits',
  ],
  [
    '4 another list cannot be planted',
    'workers/send/sealed-notices.integration.test.ts',
    'is not sent with the contacts of another one',
  ],
  [
    '4 the data of a person are erased',
    'erase/erase-number.integration.test.ts',
    'of what waits for several people, the others get theirs',
  ],
  ['5 a masked number shows five digits', 'notices/notice-view.test.ts', '010******78'],
  [
    '6 sign-in limits by network and account',
    'ops/web/hostile-callers.integration.test.ts',
    'an account fails 20 times an hour',
  ],
  [
    '6 two password checks at a time',
    'ops/web/hostile-callers.integration.test.ts',
    'two passwords are checked at a time',
  ],
  [
    '6 a sign-out that lasts',
    'ops/web/hostile-callers.integration.test.ts',
    'stays ended after a restart',
  ],
  [
    '6 half-sent bodies',
    'ops/web/hostile-callers.integration.test.ts',
    'with half a request is closed',
  ],
  [
    '6 host names',
    'ops/web/hostile-callers.integration.test.ts',
    'that a page of another site chose',
  ],
  ['6 next=/.//evil', 'ops/web/hostile-callers.integration.test.ts', "'/.//evil.example.test'"],
  [
    '6 streams of one caller',
    'ops/web/events.integration.test.ts',
    'of one caller are twenty at most',
  ],
  [
    '6 batches that one caller watches',
    'ops/web/events.integration.test.ts',
    'of one caller watch five batches',
  ],
  [
    '6 searches are audited',
    'ops/web/find.integration.test.ts',
    'it is in the audit stream with the masked number',
  ],
  ['6 exports are audited', 'ops/web/api.integration.test.ts', 'which stands in the audit stream'],
  [
    '6 an operator cannot flush the audit',
    'ops/audit.integration.test.ts',
    'an operator who makes twenty thousand entries displaces none',
  ],
  [
    '6 failed sign-ins are logged with the address',
    'ops/web/hostile-callers.integration.test.ts',
    'that failed is in the log with its address',
  ],
  [
    '7 idempotency keys belong to an API key',
    'ops/web/key-scope.integration.test.ts',
    'of two API keys do not meet',
  ],
  [
    '7 the last use of an API key',
    'ops/web/key-uses.integration.test.ts',
    'is listed for each key, to the minute',
  ],
  [
    '7 API keys expire and are replaced',
    'ops/web/accounts.test.ts',
    'an old and a new key have the same name',
  ],
  [
    '8 sign-in with OpenID Connect, with roles from a claim',
    'ops/web/oidc/oidc.integration.test.ts',
    "describe('signing in through the provider'",
  ],
  [
    '8 forged, expired and foreign ID tokens',
    'ops/web/oidc/oidc.integration.test.ts',
    "describe('an answer that is not valid'",
  ],
  [
    '9 a line that is nested 20,000 levels',
    'batch/import/rejects-file.integration.test.ts',
    'a line nested 20,000 levels',
  ],
  [
    '9 a rejects file that is a link',
    'batch/import/rejects-file.integration.test.ts',
    'a link to another file',
  ],
  [
    '9 a rejects file that is the list',
    'batch/import/rejects-file.integration.test.ts',
    'the list, under another name',
  ],
  [
    '9 a rejects file that was edited',
    'batch/import/rejects-file.integration.test.ts',
    'a file that someone edited',
  ],
  ['10 cells that are formulas', 'batch/failures/csv-line.test.ts', 'csvLine'],
  [
    '11 escapes for a terminal',
    'cli/terminal.integration.test.ts',
    'what a terminal would obey is shown as text',
  ],
  ['11 one rule for control characters', 'contracts/text-rule.test.ts', 'whole pairs are text'],
  ['12 jobs of other producers', 'contracts/job.test.ts', "describe('readJobData'"],
  [
    '12 jobs with hostile data, through a worker',
    'fuzz/jobs.integration.test.ts',
    'jobs with hostile data',
  ],
  ['12 requests to the ops server', 'fuzz/ops.integration.test.ts', 'hostile requests'],
  ['12 for minutes', 'fuzz/fuzz.release.test.ts', 'memory does not grow'],
  ['13 the corpus', 'corpus/corpus.test.ts', "describe('the corpus'"],
  [
    '14 no verification of certificates',
    'config/rules.test.ts',
    'verification of certificates cannot be switched off',
  ],
  ['14 a remote Redis without TLS', 'config/rules.test.ts', "describe('Redis without TLS'"],
  [
    '14 a remote plain proxy in front of a local address',
    'config/rules.test.ts',
    "describe('a local service behind a proxy'",
  ],
  [
    '14 Sentinel over TLS',
    'redis/tls.integration.test.ts',
    'reaches Sentinels and the master they name with TLS only',
  ],
  [
    '14 mutual TLS to Redis',
    'redis/tls.integration.test.ts',
    'shows its certificate to a Redis that demands one',
  ],
  [
    '14 mutual TLS to the service',
    'service/send.test.ts',
    'shows its certificate to a service that demands one',
  ],
  [
    '15 a missing permission is reported as such',
    'redis/permission.integration.test.ts',
    'is refused with the reason, at once',
  ],
  [
    '15 Redis users',
    'redis/users.integration.test.ts',
    'the documented lines are those of the ACL file',
  ],
  ['16 the compose file', 'scripts/compose.test.ts', 'plain http is for the emulator alone'],
  ['16 the image', 'scripts/compose.test.ts', 'the image runs as a user without rights'],
  [
    '17 packages without a hash',
    'scripts/dependencies.test.ts',
    'a native tool of another system without a hash',
  ],
  ['17 dependencies', 'scripts/dependencies.test.ts', 'our dependencies pass'],
  ['18 SECURITY.md', 'docs/security-page.test.ts', 'SECURITY.md'],
];

/** Points without a case. */
export const OPEN_POINTS: readonly number[] = [];
