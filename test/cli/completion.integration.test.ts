import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { run } from './support/run.ts';

const scriptFor = async (shell: string) => {
  const { code, stdout, stderr } = await run(['completion', shell]);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
};

describe('notices completion', () => {
  it.each([
    [['notices', 'st'], ['status']],
    [['notices', 'rate-limit', '--w'], ['--why']],
    [['notices', 'hold', 'pl'], ['place']],
    [['notices', 'send', '--template', 'x', '--cont'], ['--contact']],
    [['notices', 'nonsense', '--x'], []],
  ])('bash: %j is completed as %j', async (words, expected) => {
    const script = `${await scriptFor('bash')}
      COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _notices
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    const shown = execFileSync('bash', ['-c', script], { encoding: 'utf8' });
    expect(shown.split('\n').filter((word) => word !== '')).toEqual(expected);
  });

  it('zsh: loads the functions that the script of bash needs', async () => {
    const [first, ...rest] = (await scriptFor('zsh')).split('\n');
    expect(first).toBe('autoload -U +X bashcompinit && bashcompinit');
    expect(rest.join('\n')).toBe(await scriptFor('bash'));
  });

  it('fish: has a line for each command and flag', async () => {
    const lines = (await scriptFor('fish')).split('\n');
    expect(lines).toContain('complete -c notices -n __fish_use_subcommand -f -a status');
    expect(lines).toContain(
      "complete -c notices -n '__fish_seen_subcommand_from send' -l template",
    );
  });

  it('another shell is refused', async () => {
    const { code, stderr } = await run(['completion', 'tcsh']);
    expect(code).toBe(2);
    expect(stderr).toContain('bash, zsh, fish');
  });
});
