import { NoticeQueueError } from '../contracts/errors.ts';
import type { Receipt } from '../contracts/notice.ts';
import type { CarriedTrace } from '../tracing/job-trace.ts';
import { jobIds, judgeHead, planJobs, withFingerprint } from './plan-jobs.ts';
import type { PlannedJob, PlannedNotice } from './plan-jobs.ts';
import type { ProducerConnection } from './producer-connection.ts';

/** Where notices are queued. */
interface EnqueueTarget {
  readonly connection: Pick<ProducerConnection, 'add' | 'holders' | 'secret'>;
  readonly idempotencyWindowMs: number;
}

/** Queues one notice. @param carried trace context to store in its jobs */
export async function enqueueOne(
  plan: PlannedNotice,
  carried: CarriedTrace | undefined,
  target: EnqueueTarget,
): Promise<Receipt> {
  const [receipt] = await add(await identified([plan], target.connection), carried, target);
  if (receipt === undefined) throw new NoticeQueueError('QUEUE_UNAVAILABLE');
  return receipt;
}

/** Queues many. Checks all idempotency keys first, so that nothing is queued after a conflict. */
export async function enqueueMany(
  planned: readonly PlannedNotice[],
  carried: CarriedTrace | undefined,
  target: EnqueueTarget,
): Promise<Receipt[]> {
  const { connection } = target;
  const plans = await identified(planned, connection);
  const keyed = plans.flatMap(({ keyHash }, index) =>
    keyHash === undefined ? [] : [{ keyHash, index }],
  );
  const holders = await connection.holders(keyed.map(({ keyHash }) => keyHash));
  const seen = new Map<string, string>();
  for (const [at, { keyHash, index }] of keyed.entries()) {
    const plan = plans[index];
    if (plan === undefined) continue;
    const holder = seen.get(keyHash) ?? holders[at];
    if (holder === undefined) seen.set(keyHash, plan.id);
    else if (judgeHead(plan, holder).kind === 'conflict') {
      throw conflict(index, 'nothing was queued');
    }
  }
  return add(plans, carried, target);
}

/**
 * Adds the first job of each notice; its result shows whether the idempotency key was used before. Then
 * adds the other jobs, under the id of the notice that has the key. Notices without a key add all jobs
 * at once.
 */
async function add(
  plans: readonly PlannedNotice[],
  carried: CarriedTrace | undefined,
  { connection, idempotencyWindowMs: window }: EnqueueTarget,
): Promise<Receipt[]> {
  const first: PlannedJob[] = [];
  const heads: number[] = [];
  for (const plan of plans) {
    heads.push(first.length);
    const all = plan.keyHash === undefined;
    for (const job of planJobs(plan, plan, 0, all ? undefined : 1, window)) first.push(job);
  }
  const heldIds = await connection.add(first, carried);

  const receipts: Receipt[] = [];
  const rest: PlannedJob[] = [];
  let conflictAt: number | undefined;
  for (const [index, plan] of plans.entries()) {
    const verdict = judgeHead(plan, heldIds[heads[index] ?? -1] ?? '');
    if (verdict.kind === 'conflict') {
      conflictAt ??= index;
      continue;
    }
    const { owner } = verdict;
    if (plan.keyHash !== undefined) {
      for (const job of planJobs(plan, owner, 1, undefined, window)) rest.push(job);
    }
    receipts.push({
      id: owner.id,
      jobs: jobIds(plan, owner),
      contacts: plan.notice.contacts.length,
      duplicate: verdict.kind === 'duplicate',
    });
  }
  await connection.add(rest, carried, true);
  if (conflictAt !== undefined) {
    throw plans.length === 1
      ? new NoticeQueueError('IDEMPOTENCY_CONFLICT')
      : conflict(conflictAt, 'the other notices of the call are queued');
  }
  return receipts;
}

/** The secret is read once per connection, and only if a notice has an idempotency key. */
async function identified(
  plans: readonly PlannedNotice[],
  connection: EnqueueTarget['connection'],
): Promise<readonly PlannedNotice[]> {
  if (plans.every(({ keyHash }) => keyHash === undefined)) return plans;
  const secret = await connection.secret();
  return plans.map((plan) => withFingerprint(plan, secret));
}

function conflict(index: number, consequence: string): NoticeQueueError {
  return new NoticeQueueError(
    'IDEMPOTENCY_CONFLICT',
    `The idempotency key of notices[${index}] was used before for a different notice; ${consequence}.`,
  );
}
