import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { nextStep } from '../../src/ops/notice-words.ts';

/** The words that a shell makes of the command in a message. */
function wordsOf(message = ''): string[] {
  const command = /"notices (.*) --as accepted"/s.exec(message)?.[1] ?? '';
  const shown = spawnSync('/bin/sh', ['-c', `printf '%s\\0' ${command}`], { encoding: 'utf8' });
  return shown.stdout.split('\0').slice(0, -1);
}

describe('the command that decides about an unknown notice', () => {
  it.each(['n-abc_DEF-12', 'a b', '$(echo x)', "x'; echo `id` #", '"$HOME"', 'a\nb', '*'])(
    'names the notice %j, whatever another producer has named it, as one word',
    (id) => {
      const view = { id, state: 'unknown', contacts: 1, attempts: 1, possiblySent: 1 } as const;
      expect(wordsOf(nextStep(view))).toEqual(['decide', id]);
    },
  );
});
