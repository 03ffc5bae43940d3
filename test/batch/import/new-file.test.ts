import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { NewFile, partOf } from '../../../src/batch/import/rejects-file.ts';
import { temporaryFolder } from '../support/import-world.ts';

it.each([
  ['completed', (file: NewFile) => file.complete(false)],
  ['completed over another file', (file: NewFile) => file.complete(true)],
  ['discarded', (file: NewFile) => file.discard()],
])(
  'the unfinished file of another import of the same list is neither renamed nor removed: %s',
  async (_name, end) => {
    const target = path.join(temporaryFolder(), 'rejected.csv');
    const file = await NewFile.create(target);
    await file.write('ours\n');
    rmSync(partOf(target));
    writeFileSync(partOf(target), 'theirs\n');
    await expect(end(file)).rejects.toMatchObject({ code: 'EBUSY' });
    expect(readFileSync(partOf(target), 'utf8')).toBe('theirs\n');
    expect(() => statSync(target)).toThrow('ENOENT');
  },
);
