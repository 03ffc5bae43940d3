/** Mistakes of one file: its exact text, which occurs once, and what replaces it. One of the tests must fail for each. */
interface Planted {
  readonly file: string;
  readonly tests: readonly string[];
  readonly mistakes: readonly (readonly [from: string, to: string])[];
}

/** Each row was noticed when it was added. A row goes, or is adapted, with the code that it changes. */
export const PLANTED: readonly Planted[] = [
  {
    file: 'src/batch/source/check-number.ts',
    tests: ['test/batch/source/check-number.test.ts'],
    mistakes: [
      ['refusedIf(text.length > MAX_DIGITS)', 'refusedIf(text.length > MAX_DIGITS + 2)'],
      ['ZERO_LOST.test(text)', 'false'],
      ['character.charCodeAt(0) - 0xfee0', 'character.charCodeAt(0) - 0xfee1'],
      ['/^(?:00)?820?1', '/^820?1'],
    ],
  },
  {
    file: 'src/batch/source/csv-row.ts',
    tests: ['test/batch/source/read-csv.test.ts'],
    mistakes: [
      ['if (byte !== LF && byte !== CR) throw afterQuote(nextLine, column, byte ?? 0);', ''],
      ['return text[at + 1] === LF ? at + 2 : at + 1;', 'return at + 1;'],
      ['if (at + 1 >= text.length && !last) return undefined;', ''],
    ],
  },
  {
    file: 'src/batch/import/number-set.ts',
    tests: ['test/batch/import/number-set.test.ts'],
    mistakes: [
      ['Math.min(page, low), Math.max(page, low)', 'page, low'],
      ['* 16 + digits', '* 16'],
      ['if (count === MAX_ARRAY)', 'if (count > MAX_ARRAY)'],
    ],
  },
  {
    file: 'src/batch/failures/csv-line.ts',
    tests: ['test/batch/failures/csv-line.test.ts'],
    mistakes: [
      ["'[=+\\\\-@＝＋－＠]'", "'[=+\\\\-@]'"],
      [`.replaceAll('"', '""')`, `.replace('"', '""')`],
    ],
  },
  {
    file: 'src/batch/import/begin-batch.ts',
    tests: ['test/batch/import/begin-batch.test.ts'],
    mistakes: [
      [' && earlier.importedAt === 0 &&', ' &&'],
      ['!sameList || differing.length > 0', '!sameList'],
      ["if (batch.phase === 'cancelled') return { kind: 'cancelled', batch };", ''],
    ],
  },
  {
    file: 'src/batch/ledger/retention.ts',
    tests: ['test/batch/ledger/retention.test.ts'],
    mistakes: [
      ['rejected + unknown + expired', 'rejected + unknown'],
      ['Math.min(LAST_MS', 'Math.max(LAST_MS'],
    ],
  },
  {
    file: 'src/batch/ledger/batch-motion.ts',
    tests: ['test/batch/ledger/batch-motion.test.ts'],
    mistakes: [
      ['now - Math.max(movedAt, nextAt) >=', 'now - movedAt >='],
      ['movedAt <= restartedAt', 'movedAt < restartedAt'],
    ],
  },
  {
    file: 'src/batch/ledger/scripts/chunk-scripts.ts',
    tests: ['ledger', 'ledger-model'].map(
      (name) => `test/batch/ledger/${name}.integration.test.ts`,
    ),
    mistakes: [
      ["if redis.call('GET', KEYS[12]) ~= token then return { 'lost' } end", ''],
      ["if underWay and delivery == 'at-most-once' then", 'if false then'],
      ["if state == SETTLED then return { 'settled' } end", ''],
      [
        "if underWay and bytes and redis.call('HGET', inflight, chunk) == nonce then",
        'if false then',
      ],
      ['newChunk(size - said.first, ARGV[5])', 'newChunk(size, ARGV[5])'],
      ["possiblySent and 'unknown' or said.state", 'said.state'],
      [
        "if redis.call('HGET', inflight, chunk) ~= nonce and not (possiblySent",
        'if not (possiblySent',
      ],
    ],
  },
  {
    file: 'src/batch/source/check-row.ts',
    tests: ['test/batch/source/check-row.test.ts'],
    mistakes: [
      ['cells.length !== columns.width', 'cells.length < columns.width'],
      [
        "if (FORBIDDEN_NAMES.has(field)) return refused(field, '', 'this field name is not allowed');",
        '',
      ],
      ['value.length > MAX_VALUE_LENGTH', 'value.length > MAX_VALUE_LENGTH + 1'],
    ],
  },
  {
    file: 'src/payload/seal.ts',
    tests: ['test/payload'],
    mistakes: [
      ['`${account} ${place}`', '`${account}`'],
      ['if (!acceptsPlain) throw', 'if (acceptsPlain && !acceptsPlain) throw'],
    ],
  },
  {
    file: 'src/payload/sealed-job.ts',
    tests: ['test/payload'],
    mistakes: [['...(delivery === undefined ? {} : { delivery }),', '']],
  },
  {
    file: 'src/redis/failure.ts',
    tests: ['test/redis/failure.test.ts'],
    mistakes: [
      ['Object.hasOwn(LASTING, redisErrorCode', 'Object.hasOwn(PASSING, redisErrorCode'],
      ['text.includes(prefix)) ??', 'text === prefix) ??'],
    ],
  },
  {
    file: 'src/redis/suitability.ts',
    tests: ['test/redis/suitability.integration.test.ts'],
    mistakes: [
      ["policy !== '' && policy !== 'noeviction'", "policy === 'allkeys-lru'"],
      ["role === 'replica'", "role === 'slave'"],
    ],
  },
  {
    file: 'src/ops/mask-contact.ts',
    tests: ['test/ops/mask-contact.test.ts'],
    mistakes: [['digits >= 8', 'digits >= 4']],
  },
  {
    file: 'src/ops/audit.ts',
    tests: ['test/ops/without-numbers.test.ts', 'test/ops/audit.integration.test.ts'],
    mistakes: [
      ['{0,3}\\p{Nd}){6,}/gu', '{0,2}\\p{Nd}){6,}/gu'],
      ['READS.has(what) ? keys.auditReads : keys.audit', 'keys.audit'],
    ],
  },
  {
    file: 'src/cli/batches/refused-limit.ts',
    tests: ['test/cli/batches/batches-progress.test.ts'],
    mistakes: [
      ['refused * 1_000_000 <= perMillion * rows', 'refused * 1_000_000 < perMillion * rows'],
    ],
  },
  {
    file: 'src/format/format.ts',
    tests: ['test/format/terminal-text.test.ts'],
    mistakes: [['.replace(/\\n/g, escapeOf)', '']],
  },
];
