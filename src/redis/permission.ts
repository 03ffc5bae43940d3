/** What Redis says when the user lacks a permission for a command inside a script; the words differ by version. */
const IN_SCRIPT = /^ERR .*(?:ACL failure in script|The user executing the script can't)/;

/** Whether an error reply of Redis is about a missing permission. */
export function isPermissionRefusal(message: string): boolean {
  return message.startsWith('NOPERM') || IN_SCRIPT.test(message);
}

/**
 * Which permission a refused command lacks, in words: the command or the pattern of its keys, as an ACL
 * names them. Never a value, and of a key only its beginning, which is the same for all keys of a kind.
 *
 * @param message the error reply of Redis
 * @param keys keys of the command
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
