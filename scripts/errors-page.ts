import { ERROR_CODES, exitCodeOf, NoticeQueueError } from '../src/contracts/errors.ts';
import type { ErrorCode } from '../src/contracts/errors.ts';
import { EXIT_CODES } from '../src/cli/run-cli.ts';

/** Text of docs/errors.md, made from the table of error codes. */
export function errorsPage(generatedBy: string): string {
  const codes = Object.keys(ERROR_CODES) as ErrorCode[];
  const errorRows = codes.map((code) => {
    const { meaning, remedy } = ERROR_CODES[code];
    return `| \`${code}\` | ${meaning} | ${remedy} | ${exitCodeFor(code)} |`;
  });
  const exitRows = Object.entries(EXIT_CODES).map(([code, text]) => `| ${code} | ${text} |`);
  return `<!-- ${generatedBy} -->
<!-- prettier-ignore-start -->

# Errors and exit codes

Every error that the library throws is a \`NoticeQueueError\` with one of the codes below in \`code\`. The
message states what happened and what to do. No message contains a secret, a token or a phone number.
The ops server answers with the same codes ([ops-server.md](ops-server.md)); logs contain them in the
field \`code\`. [operating.md](operating.md#error-codes) describes what to check for each of them. Two codes are no errors
of the library: \`DEFECT\`, an unexpected error of this program (the ops server, with 500, and the CLI with \`--json\`), and
\`USAGE\`, a command line that is not valid (the CLI with \`--json\`).

## Error codes

| code | meaning | what to do | exit code |
|---|---|---|---|
${errorRows.join('\n')}

## Exit codes

Every command that no signal ends, ends with one of these. A second SIGTERM or SIGINT, more than a second after the first, ends
\`notices worker\` and \`notices ops\` at once with 143 or 130: what is in flight may then be unknown. A stop of
\`notices worker\` that takes longer than three times ANSWER_TIMEOUT_MS and 10 s, or of \`notices ops\` that
takes longer than 10 s, ends with 1. With \`--json\`, the error is written to standard error as JSON.

| exit code | meaning |
|---|---|
${exitRows.join('\n')}

A question answered with no ends with 1, and so do a search that finds nothing, a command that leaves a part of its work undone
(\`erase\`, \`decide\`, \`cancel\`, \`restored park\`), and a \`notices import --wait\` of which not every contact was accepted.
What was queued before an end with 1 stays queued, such as the contacts before the damaged line of a list (SOURCE_INVALID).
After 3, \`notices send\` may have queued its notice; its message says whether.

<!-- prettier-ignore-end -->
`;
}

function exitCodeFor(code: ErrorCode): number {
  return exitCodeOf(new NoticeQueueError(code));
}
