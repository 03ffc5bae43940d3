import type { Case } from './case.ts';

const BROKEN = 'service/broken-answers.test.ts';
const READ = 'service/response/read-answer.test.ts';
const OUTCOME = 'service/outcome-table.test.ts';
const ISSUE = 'service/issue-token.test.ts';

/** Answers of the service. */
export const ANSWER_CASES: readonly Case[] = [
  ['91 200 without a body, 204', BROKEN, "'without a body'"],
  ['92 200 with a page', OUTCOME, "['2xx, a page'"],
  ['93 200 with success: false', OUTCOME, "['2xx, success: false'"],
  ['94 200 that is cut off', BROKEN, "'cut off in its length'"],
  ['95 compressed without need', BROKEN, "'compressed, though nothing of the kind was asked for'"],
  ['96 an endless body', BROKEN, 'are read up to 64 kB'],
  ['97 an unknown charset', READ, "'a charset nobody knows'"],
  ['98 two answers', BROKEN, "'twice: one outcome'"],
  ['99 early hints', BROKEN, "'after early hints'"],
  ['100 redirects', 'service/send.test.ts', "describe('a redirect'"],
  ['101 a refused key', ISSUE, "'INVALID_ACCESS_KEY'"],
  ['102 401 for ever', OUTCOME, "'TOKEN_EXPIRED'"],
  ['103 any Retry-After', 'service/pure-readers.test.ts', "describe('Retry-After'"],
  ['104 statuses that are not documented', OUTCOME, 'answered(418'],
  ['105 answers without a usable token', ISSUE, 'an answer without a usable token'],
  ['106 a body that drips', BROKEN, 'a body that drips'],
  ['107 bytes that are no HTTP', 'service/send-failures.test.ts', 'it may have been taken'],
];
