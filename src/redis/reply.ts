/**
 * The code of an error reply of Redis (`OOM`, `READONLY`, ...); undefined for any other error. Redis 6
 * wraps the code of a command that failed inside a script: `ERR Error running script ...: -OOM ...`, and each
 * version words a missing permission inside a script in its own way.
 */
export function replyCode(error: unknown): string | undefined {
  if (!isReply(error)) return undefined;
  if (isPermissionRefusal(error.message)) return 'NOPERM';
  return (/^ERR .*: -([A-Z]{3,})\b/.exec(error.message) ?? /^([A-Z]+)\b/.exec(error.message))?.[1];
}

const isReply = (error: unknown): error is Error =>
  error instanceof Error && error.name === 'ReplyError';

/** Errors that JavaScript throws for a mistake. */
const JAVASCRIPT_ERRORS: ReadonlySet<string> = new Set([
  'TypeError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
]);

/** Where Redis puts the words of an error inside a script; the second form is that of Redis 6. */
const IN_A_SCRIPT = /^ERR (?:Error running script[^:]*: )?(?:@user_script: ?\d+: )*(?:ERR )?/;

/** Words of Redis about a command or a script that is wrong, whoever sends it and whenever. */
const MISTAKES =
  /^(?:user_script:\d+: |Error compiling script|Script attempted to access|wrong number of arg|unknown (?:redis )?(?:sub)?command\b|syntax error|(?:hash )?value is not (?:an integer|a valid float)|(?:min or max|weight value|score) is not)/i;

/**
 * Whether an error is a mistake in this program, which a repetition would repeat: one that JavaScript itself throws, or
 * a reply that is known to be about the command or the script. Any other reply may be over at the next try, `ERR` too:
 * a gateway in front of Redis says so that a quota is spent or that a server is away, and Redis that a script was killed.
 */
export function isMistake(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.name !== 'ReplyError') return JAVASCRIPT_ERRORS.has(error.name);
  if (!error.message.startsWith('ERR') || replyCode(error) !== 'ERR') return false;
  return MISTAKES.test(error.message.replace(IN_A_SCRIPT, ''));
}

/** Words that may be shown of a reply. All others may be a key, a number or a value. */
const KNOWN_WORDS: ReadonlySet<string> = new Set(
  `a access account allowed an and at away backend be being busy by can cannot closed cluster command commands
  compiling connection connections count could credentials daily database denied disabled down error exceeded expired
  failed failure for full gateway has host in instance internal invalid is it kill killed lag later limit limited load
  lost maintenance many master max maximum memory monthly no node not of on out over overloaded per permission plan please
  proxy quota rate reached read readonly refused reject rejected replica request requests reset retry route running
  script server servers shutting size slow source subscription supported suspended temporarily the this throttled time
  timed timeout to too try unavailable unexpected unknown upstream usage used user was while with write writes
  wrong`.split(/\s+/),
);

const MAX_WORDS = 12;

/** The first words of an error reply, safe to log; undefined for any other error, or where none is known. */
export function replyWords(error: unknown): string | undefined {
  if (!isReply(error)) return undefined;
  const words = error.message
    .slice(0, 300)
    .replace(/^[A-Z]+\b:? ?/, '')
    .split(/\s+/)
    .slice(0, MAX_WORDS)
    .map((word) => word.replace(/[.,:;!']+$/, ''))
    .filter((word) => word !== '')
    .map((word) => (KNOWN_WORDS.has(word.toLowerCase()) ? word : '...'));
  const shown = words.join(' ').replace(/\.\.\.(?: \.\.\.)+/g, '...');
  return shown === '' || shown === '...' ? undefined : shown;
}

/** What Redis says when the user lacks a permission for a command inside a script; the words differ by version. */
const IN_SCRIPT = /^ERR .*(?:ACL failure in script|The user executing the script can't)/;

/** Whether an error reply of Redis is about a missing permission. */
function isPermissionRefusal(message: string): boolean {
  return message.startsWith('NOPERM') || IN_SCRIPT.test(message);
}

/**
 * Which permission a refused command lacks, in words: the command or the pattern of its keys, as an ACL
 * names them. Never a value, and of a key only its beginning, which is the same for all keys of a kind.
 */
export function missingPermission(message: string, keys: readonly string[]): string {
  const command = /run the '([\w|-]{1,64})' command/.exec(message)?.[1];
  if (command !== undefined) return `the command ${command}`;
  const patterns = patternsOf(keys);
  if (/\bchannels?\b/.test(message)) return withPatterns('a channel', patterns);
  if (/\bkeys?\b/.test(message)) return withPatterns('a key', patterns);
  return withPatterns('a command inside a script', patterns, 'on');
}

function withPatterns(what: string, patterns: readonly string[], link = 'of'): string {
  return patterns.length === 0 ? what : `${what} ${link} ${patterns.join(', ')}`;
}

/** `{prefix:account}:send:17:lock` becomes `{prefix:account}:send:*`. */
function patternsOf(keys: readonly string[]): string[] {
  const found = keys.map((key) => /^(\{[\w.:-]{1,128}\}:[a-z-]{1,32})(:|$)/.exec(key));
  const patterns = found.map(
    (match) => match && `${match[1] ?? ''}${match[2] === ':' ? ':*' : ''}`,
  );
  return [...new Set(patterns.filter((pattern) => pattern !== null))].sort();
}
