/**
 * A case of the corpus: its name, the test file that runs it (below `test/`), and words of that file by which the
 * test is found. The corpus runs nothing a second time: corpus.test.ts checks that each named test exists.
 */
export type Case = readonly [name: string, file: string, words: string];
