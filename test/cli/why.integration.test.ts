import { describe, expect, it } from 'vitest';
import { allFailed } from '../../src/batch/ledger/settlement.ts';
import { readAudit } from '../../src/ops/audit.ts';
import { buildBatch, contacts } from '../batch/support/built-batch.ts';
import { testRedis } from '../support/redis.ts';
import { run } from './support/run.ts';
import { temporaryFile } from '../support/temporary.ts';

const redis = testRedis();
const NUMBER = '01000000001';

function open() {
  const { prefix, env, keys } = redis.account();
  const audit = async () =>
    (await readAudit(redis.client, keys, 20)).map(({ what, target, as, why, contacts: many }) => [
      what,
      target,
      as,
      many,
      why,
    ]);
  return { prefix, env, audit };
}

describe('what is done by hand on the command line is recorded, with its reason', () => {
  it('imports and sends; not what changed nothing', async () => {
    const { env, audit } = open();
    const list = temporaryFile('contact\n01000000001\n01000000002\n', 'list.csv');
    const imports = ['import', list, '--template', 'T', '--batch', 'b', '--why', 'the campaign'];
    expect((await run([...imports, '--dry-run'], env)).code).toBe(0);
    expect(await audit()).toEqual([]);
    expect((await run(imports, env)).code).toBe(0);
    await run(imports, env);
    const send = ['send', '--template', 'T', '--contact', NUMBER, '--idempotency-key', 'k'];
    const sent = await run([...send, '--why', 'asked by phone', '--json'], env);
    const { id } = JSON.parse(sent.stdout) as { id: string };
    await run(send, env);
    expect(await audit()).toEqual([
      ['send', id, 'queued', 1, 'asked by phone'],
      ['import', 'batch b', 'imported', 2, 'the campaign'],
    ]);
  });

  it('exports of a batch, searches, the end of a hold, a real notice and a token of the doctor', async () => {
    const { prefix, env, audit } = open();
    const batch = await buildBatch(redis.client, prefix, 'b', [contacts(3)]);
    await batch.settle(0, allFailed('rejected', 'BAD', ''));
    const why = ['--why', 'a complaint'];
    const csv = await run(['failures', 'b', '--csv', '--code', 'BAD', ...why], env);
    expect(csv.stderr).toBe('Exported 3 contacts.\n');
    const FIND_KEY = Buffer.alloc(32, 7).toString('base64');
    await run(['find', NUMBER, ...why], { ...env, FIND_KEY });
    await run('hold place --why checked', env);
    await run(['hold', 'lift', ...why], env);
    const entries = await audit();
    expect(entries).toEqual([
      ['hold', 'queue', 'lifted manual', undefined, 'a complaint'],
      ['hold', 'queue', 'placed', undefined, 'checked'],
      ['search', 'number 010******01', 'searched', undefined, 'a complaint'],
      ['download', 'batch b', 'all but unknown BAD', undefined, 'a complaint'],
    ]);
    expect(JSON.stringify(entries)).not.toContain(NUMBER);
  });
});
