import type { Case } from './case.ts';

/** Points of the external review: what was found, and the test that fails without its fix. */
export const REVIEW_CASES: readonly Case[] = [
  [
    '1 an id does not reveal numbers',
    'producer/plan-jobs.test.ts',
    'a fingerprint depends on the secret of the account',
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
  [
    '15 Redis users',
    'redis/users.integration.test.ts',
    'the documented lines are those of the ACL file',
  ],
  ['16 the compose file', 'scripts/compose.test.ts', 'plain http is for the emulator alone'],
  ['17 dependencies', 'scripts/dependencies.test.ts', 'our dependencies pass'],
  ['18 SECURITY.md', 'docs/security-page.test.ts', 'SECURITY.md'],
];

/** Points without a case. */
export const OPEN_POINTS: readonly number[] = [];
