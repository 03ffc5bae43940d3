import { Argument, Command } from 'commander';
import type { CommandContext } from './command-context.ts';
import { writeText } from './output.ts';

/** What a shell completes for one command: its subcommands and long flags. */
interface Completed {
  readonly name: string;
  readonly words: readonly string[];
}

/** Scripts by shell. */
const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** `notices completion SHELL`: writes the script that a shell reads at its start. */
export function completionCommand({ stdout }: CommandContext): Command {
  return new Command('completion')
    .addArgument(new Argument('<shell>').choices(Object.keys(SCRIPTS)))
    .action((shell: keyof typeof SCRIPTS, _flags: object, command: Command) => {
      writeText(stdout, SCRIPTS[shell](command.parent?.commands.map(completed) ?? []));
    });
}

function completed(command: Command): Completed {
  const flags = command.options.flatMap(({ long, hidden }) =>
    long === undefined || long === null || hidden ? [] : [long],
  );
  const below = command.commands.map((sub) => sub.name());
  const inherited = (command.parent?.options ?? []).flatMap(({ long }) => long ?? []);
  return {
    name: command.name(),
    words: [...below, ...new Set([...flags, ...inherited, '--help'])],
  };
}

function bashScript(commands: readonly Completed[]): string {
  const rows = commands.map(({ name, words }) => `      ${name}) words='${words.join(' ')}' ;;`);
  return `_notices() {
  local word=\${COMP_WORDS[COMP_CWORD]} words=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='${commands.map(({ name }) => name).join(' ')} --help --version'
  else
    case "\${COMP_WORDS[1]}" in
${rows.join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _notices notices
`;
}

function zshScript(commands: readonly Completed[]): string {
  return `autoload -U +X bashcompinit && bashcompinit\n${bashScript(commands)}`;
}

function fishScript(commands: readonly Completed[]): string {
  const rows = commands.flatMap(({ name, words }) => [
    `complete -c notices -n __fish_use_subcommand -f -a ${name}`,
    ...words.map((word) =>
      word.startsWith('--')
        ? `complete -c notices -n '__fish_seen_subcommand_from ${name}' -l ${word.slice(2)}`
        : `complete -c notices -n '__fish_seen_subcommand_from ${name}' -f -a ${word}`,
    ),
  ]);
  return `${rows.join('\n')}\n`;
}
