import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { Command } from 'commander';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { runOperation } from '../../src/cli/run-operation.ts';
import { operation } from '../../src/ops/operations/operation.ts';
import { testRedis } from '../support/redis.ts';

const redis = testRedis();

it('where the preview finds nothing, what comes meanwhile is not acted on either', async () => {
  const inputs: unknown[] = [];
  const row = operation({
    name: 'delete',
    summary: 'Deletes.',
    answers: 'Nothing.',
    needs: 'operator',
    why: 'may',
    path: '/api/v1/delete',
    input: z.object({ before: z.int().default(Infinity) }),
    output: z.object({}),
    preview: () => Promise.resolve({ lines: [], question: undefined, input: { before: 1 } }),
    run: (_, input) => {
      inputs.push(input);
      return Promise.resolve({});
    },
  });
  const env = { REDIS_URL: redis.url, REDIS_PREFIX: redis.freshPrefix() };
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const asked = { env, stdin, stdout, stderr, signals: new EventEmitter() };
  const context = { ...asked, end: () => {}, warn: () => {} };
  await runOperation(context, new Command('delete'), row, {});
  expect(inputs).toEqual([{ before: 1 }]);
});
