import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { NoticeQueue, type NoticeQueueOptions } from '../../../src/index.ts';
import type { TestRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';

/** Opens queues of a producer that the end of the test closes. */
export function queuesOn(redis: TestRedis) {
  return (prefix: string, options: NoticeQueueOptions = {}): NoticeQueue => {
    const queue = new NoticeQueue({
      redis: connectionAs('producer', redis.url),
      prefix,
      ...options,
    });
    onTestFinished(() => queue.close());
    return queue;
  };
}

/** A job as it lies in Redis, before anything of ours has read it. */
export interface StoredJob {
  readonly id: string;
  /** The text of its data. */
  readonly text: string;
  readonly data: { readonly notice: Readonly<Record<string, unknown>> };
  readonly delay: number;
  readonly priority: number;
  readonly timestamp: number;
}

const queueOf = (prefix: string) => `{${prefix}:default}:send`;

/** Ids of the jobs that wait, in the order in which they will be taken. */
export async function waitingIds(redis: Redis, prefix: string): Promise<string[]> {
  // Jobs are pushed at the left end and taken from the right one.
  return (await redis.lrange(`${queueOf(prefix)}:wait`, 0, -1)).reverse();
}

/** The job of an id. */
export async function storedJob(redis: Redis, prefix: string, id: string): Promise<StoredJob> {
  const fields = await redis.hgetall(`${queueOf(prefix)}:${id}`);
  const text = fields['data'];
  if (text === undefined) throw new Error(`no job ${id}`);
  return {
    id,
    text,
    data: JSON.parse(text) as StoredJob['data'],
    delay: Number(fields['delay'] ?? 0),
    priority: Number(fields['priority'] ?? 0),
    timestamp: Number(fields['timestamp']),
  };
}

/** The jobs that wait, in order. */
export async function waitingJobs(redis: Redis, prefix: string): Promise<StoredJob[]> {
  const ids = await waitingIds(redis, prefix);
  return Promise.all(ids.map((id) => storedJob(redis, prefix, id)));
}

/** Numbers of the contacts of the jobs, in order. */
export function contactsOf(jobs: readonly StoredJob[]): string[] {
  return jobs.flatMap(({ data }) =>
    (data.notice['contacts'] as { contact: string }[]).map(({ contact }) => contact),
  );
}

/** The contract that producers in other languages are given, as published. */
export function publishedSchema(): z.ZodType {
  const file = new URL('../../../docs/job.schema.json', import.meta.url);
  return z.fromJSONSchema(JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>);
}

/** Contacts with numbers that do not exist. */
export function contacts(count: number, from = 0): { contact: string }[] {
  return Array.from({ length: count }, (_, index) => ({
    contact: `0100${String(from + index).padStart(7, '0')}`,
  }));
}
