import type { Case } from '../case.ts';

const REJECTS = 'batch/import/rejects-file.integration.test.ts';
const CELLS = 'batch/failures/csv-line.test.ts';
const TERMINAL = 'cli/terminal.integration.test.ts';
const TEXT = 'contracts/text-rule.test.ts';
const JOB = 'contracts/job.test.ts';
const FUZZ = 'fuzz/fuzz.test.ts';
const LONG_FUZZ = 'fuzz/fuzz.release.test.ts';
const CORPUS = 'corpus/corpus.test.ts';

/** Points 9 to 13: input of others, and the files that it leads to. */
export const INPUT_CASES: readonly Case[] = [
  ['9 a line nested 20,000 levels', REJECTS, 'a line nested 20,000 levels'],
  ['9 a rejects file that links to the list', REJECTS, 'the list, under another name'],
  ['9 a planted link', REJECTS, 'a link to another file: neither is changed'],
  ['9 an edited rejects file', REJECTS, 'a file that someone edited'],
  ['9 overwritten on demand only', REJECTS, 'replaced only on demand'],
  ['9 mode 0600', REJECTS, 'mode & 0o777).toBe(0o600)'],
  ['9 created exclusively', REJECTS, 'symlinkSync(other, `${rejectedOf(file)}.part`)'],
  ['9 written new, then renamed', REJECTS, 'of an import that is stopped there is none'],
  ['9 device and inode of the list', REJECTS, 'of [linkSync, symlinkSync]'],
  [
    '9 device and inode of the unfinished file',
    'batch/import/new-file.test.ts',
    'another import of the same list',
  ],

  ['10 signs of formulas', CELLS, "['=1+1'"],
  ['10 full-width signs', CELLS, "['＝1+1'"],
  ['10 leading blanks', CELLS, "['  =1+1'"],
  ['10 other separators', CELLS, "['a;=1+1'"],
  ['10 every cell is quoted', CELLS, "['plain', 'plain']"],

  ['11 escapes of lists, codes, templates and reasons', TERMINAL, 'of lists, codes, templates'],
  ['11 nothing else writes to a terminal', TERMINAL, 'only the functions that make text safe'],
  ['11 NUL', TEXT, "['NUL'"],
  ['11 lone surrogates', TEXT, "['a lone surrogate'"],
  ['11 one rule for single notices and lists', TEXT, 'in a single notice as in a list'],

  ['12 the schema of jobs', JOB, "describe('readJobData'"],
  ['12 the depth and size of jobs', JOB, 'nested too deeply or too large'],
  ['12 fuzz of jobs', 'fuzz/jobs.integration.test.ts', 'jobs with hostile data'],
  ['12 fuzz of answers', FUZZ, '...ANSWER_TARGETS'],
  ['12 fuzz of CSV and NDJSON', FUZZ, '...LIST_TARGETS'],
  ['12 fuzz of the configuration', FUZZ, '...CONFIGURATION_TARGETS'],
  ['12 fuzz of HTTP bodies', 'fuzz/ops.integration.test.ts', 'hostile requests'],
  ['12 the seed is printed', 'fuzz/target.test.ts', 'the seed, which is printed'],
  ['12 for minutes in --full', LONG_FUZZ, 'hostile input for minutes'],
  ['12 the process neither dies nor hangs', LONG_FUZZ, 'isAlive'],
  ['12 the process does not grow', LONG_FUZZ, 'memory does not grow'],

  ['13 a case for each line of the issue', CORPUS, 'every line of the review'],
  ['13 a case for each bad input of the facts', CORPUS, 'every kind of bad input once'],
];
