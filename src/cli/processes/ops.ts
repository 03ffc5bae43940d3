import { text } from 'node:stream/consumers';
import { Command, InvalidArgumentError, Option } from 'commander';
import { parseListenAddress } from '../../config/address.ts';
import { isBlank } from '../../config/environment.ts';
import { formatAddress } from '../../format/plain-hosts.ts';
import { wholeNumber } from '../arguments.ts';
import { askSecret } from '../confirm.ts';
import { UsageError, type CommandContext } from '../command-context.ts';
import type { Role } from '../../ops/web/access/identity.ts';
import { readConfig } from '../open-queue.ts';
import { print } from '../output.ts';

const NAME = /^[A-Za-z0-9._@-]{1,64}$/;

/** `notices ops`: the ops server; its subcommands create entries for its configuration. */
export function opsCommand(context: CommandContext): Command {
  return new Command('ops')
    .description('Runs the ops server (pages and HTTP API); makes access to it.')
    .addCommand(serveCommand(context), { isDefault: true })
    .addCommand(hashPasswordCommand(context))
    .addCommand(newKeyCommand(context));
}

function serveCommand(context: CommandContext): Command {
  return new Command('serve')
    .description('Runs the ops server, until SIGTERM or SIGINT (default).')
    .option('--host <address>', 'address to listen on (default: OPS_ADDRESS)')
    .option(
      '--port <n>',
      'port to listen on, 0 for a free one (default: OPS_ADDRESS)',
      wholeNumber(0, 65_535),
    )
    .action(async (flags: { host?: string; port?: number }, command: Command) => {
      // As a variable, so that its rules apply to the options, too.
      const address = context.env['OPS_ADDRESS'];
      const set = parseListenAddress(isBlank(address) ? '4011' : address);
      const env =
        set === undefined
          ? context.env
          : { ...context.env, OPS_ADDRESS: formatAddress({ ...set, ...flags }) };
      const config = await readConfig({ env }, 'ops', 'events', 'service');
      const { describeFirstSignIn, runOpsProcess } =
        await import('../../../workers/process/ops-process.ts');
      const code = await runOpsProcess(config, ({ url, firstSignIn }) =>
        print(context, command, { url, firstSignIn: firstSignIn ?? null }, () => [
          `ops at ${url}`,
          ...(firstSignIn === undefined ? [] : [describeFirstSignIn(url, firstSignIn)]),
        ]),
      );
      context.end(code);
    });
}

function hashPasswordCommand(context: CommandContext): Command {
  return new Command('hash-password')
    .description('Reads a password from standard input and prints its entry for OPS_USERS.')
    .argument('<name>', 'name to sign in with', name)
    .addOption(
      new Option('--role <role>', 'a viewer reads, an operator also acts')
        .choices(['viewer', 'operator'])
        .default('viewer'),
    )
    .action(async (user: string, { role }: { role: string }, command: Command) => {
      const { hashPassword, MIN_PASSWORD_LENGTH, MAX_PASSWORD_LENGTH } =
        await import('../../ops/web/access/accounts.ts');
      const password =
        context.stdin.isTTY === true
          ? await askSecret(context, 'Password:')
          : (await text(context.stdin)).replace(/[\r\n]+$/, '');
      if (password.length < MIN_PASSWORD_LENGTH || password.length > MAX_PASSWORD_LENGTH) {
        throw new UsageError(
          `expected a password of ${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters on standard input`,
        );
      }
      const entry = `${user}:${role}:${await hashPassword(password)}`;
      print(context, command, { entry }, () => [entry]);
    });
}

function newKeyCommand(context: CommandContext): Command {
  return new Command('new-key')
    .description('Creates an API key: prints it once, with its entry for OPS_API_KEYS.')
    .argument('<name>', 'name of the calling program, for the audit stream', name)
    .addOption(
      new Option('--role <role>', 'a sender enqueues notices and lists, and looks them up')
        .choices(['sender', 'viewer', 'operator'])
        .default('sender'),
    )
    .option('--expires <date>', 'last day on which it can be used, in UTC, such as 2027-01-31')
    .action(async (program: string, flags: { role: Role; expires?: string }, command: Command) => {
      const { endOfDay, newApiKey } = await import('../../ops/web/access/accounts.ts');
      const { role, expires } = flags;
      if (expires !== undefined && (endOfDay(expires) ?? 0) <= Date.now()) {
        throw new UsageError('--expires: expected a day that is not over, such as 2027-01-31');
      }
      const made = newApiKey(program, role, expires);
      print(context, command, made, () => [
        `API key, shown only once: ${made.key}`,
        `Entry for OPS_API_KEYS: ${made.entry}`,
      ]);
    });
}

function name(value: string): string {
  if (!NAME.test(value)) {
    throw new InvalidArgumentError('Expected 1 to 64 letters, digits, dots, hyphens and @.');
  }
  return value;
}
