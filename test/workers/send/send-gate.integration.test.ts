import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import { readHold, readTemplateHolds } from '../../../src/fleet/hold/holds.ts';
import { ROW, TEMPLATE_ROW } from '../../../src/fleet/hold/trouble.ts';
import { JobHistories } from '../../../src/fleet/job-history.ts';
import type { GateJob } from '../../../workers/send/template-refusals.ts';
import { SendGate } from '../../../workers/send/send-gate.ts';
import { hasGates } from '../../fleet/hold/support/gates.ts';
import { until } from '../../support/wait.ts';
import type { SendAnswer } from '../../../src/service/send-call.ts';

const hold = (
  kind: Extract<Outcome, { kind: 'hold' }>['hold'],
  scope: 'all' | 'row' | 'template',
  more: { rejectAfter?: number; forMs?: number } = {},
): Outcome => ({ kind: 'hold', hold: kind, code: 'CODE', scope, ...more });
const ACCEPTED: Outcome = { kind: 'accepted', confirmed: true };
const REJECTED: Outcome = { kind: 'rejected', code: 'CODE' };
const UNKNOWN: Outcome = { kind: 'unknown', code: 'HTTP_500' };
const PAGE = hold('address', 'template', { rejectAfter: 4 });
const REFUSED = hold('credentials', 'template', { rejectAfter: 1 });

describe('SendGate', () => {
  const { redis, process, freshKeys } = hasGates();

  function fleet() {
    const keys = freshKeys();
    const takenBack: string[] = [];
    const throttled: number[] = [];
    const worker = async (othersAccepted = false) => {
      const { gate: holds } = await process(keys, true, othersAccepted);
      const histories = new JobHistories(redis.client, { ...keys, noticeLock: () => '' });
      const gate = new SendGate({
        isSuspended: () => holds.isAside,
        isComplete: () => true,
        holds,
        histories,
        rateLimiter: { throttled: () => Promise.resolve(void throttled.push(1)) },
        log: { trouble: (_, error) => expect.fail(String(error)) },
        now: () => performance.timeOrigin + performance.now(),
      });
      type More = Partial<GateJob> & { isFirstRun?: boolean; tokenId?: string; status?: number };
      /** An attempt that may begin, undefined where it may not; it ends when it is called. */
      const begin = async (id: string, more: More = {}) => {
        const job: GateJob = {
          id,
          template: 'T',
          trouble: more.isFirstRun === false ? (await histories.read(id)).trouble : undefined,
          takeBack: () => Promise.resolve(void takenBack.push(id)),
          ...more,
        };
        const entered = await gate.enter(job);
        if (entered === undefined || 'putOffMs' in entered) return undefined;
        const { tokenId = 'token', status = 400 } = more;
        const answer = { tokenId, status } as SendAnswer;
        const end = (outcome: Outcome) =>
          gate.leave(job, entered, { outcome, answer, requestedAt: performance.now() });
        return Object.assign(end, { probes: entered.probes });
      };
      const attempt = async (id: string, outcome: Outcome, more: More = {}) =>
        (await begin(id, more))?.(outcome);
      return { gate, holds, begin, attempt };
    };
    return {
      keys,
      takenBack,
      throttled,
      worker,
      held: async () => (await readHold(redis.client, keys))?.kind,
      templates: async () =>
        (await readTemplateHolds(redis.client, keys)).map(({ template }) => template),
    };
  }

  it.each<[string, Outcome, string]>([
    ['5xx', UNKNOWN, 'failing'],
    ['no connection', hold('unreachable', 'row'), 'unreachable'],
    ['429', hold('throttled', 'row'), 'throttled'],
    ['503 with Retry-After', hold('failing', 'row', { forMs: 1_000 }), 'failing'],
    ['redirects', hold('address', 'row'), 'address'],
  ])('%s of twelve different notices in a row hold the account', async (_, outcome, kind) => {
    const { worker, held } = fleet();
    const { attempt } = await worker();
    for (let n = 1; n < ROW; n++) await attempt(`n${n}`, outcome);
    await attempt('n1', outcome);
    expect(await held()).toBeUndefined();
    await attempt('another', outcome);
    expect(await held()).toBe(kind);
  });

  it('in an outage no attempt begins between the last of the row and its hold', async () => {
    const { worker, held } = fleet();
    const { begin } = await worker();
    let tried = 0;
    const enter = async (id: number) => {
      const end = await begin(`n${id}`);
      if (end !== undefined && end.probes === undefined) tried += 1;
      return end;
    };
    const underWay = await Promise.all([1, 2, 3].map(enter));
    for (const end of underWay) await end?.(UNKNOWN);
    const others = Array.from({ length: 2 * ROW }, async (_, n) =>
      (await enter(n + 10))?.(UNKNOWN),
    );
    await Promise.all(others);
    expect([await held(), tried]).toEqual(['failing', ROW]);
  });

  const LOST = hold('unreachable', 'row');
  /** Notices that come to the gate together; each that is let through fails. @returns how many were */
  const together = async (attempt: (id: string, outcome: Outcome) => Promise<unknown>) => {
    const ids = Array.from({ length: 20 }, (_, n) => `waits${n}`);
    const ends = await Promise.all(ids.map((id) => attempt(id, LOST)));
    return ends.filter((outcome) => outcome !== undefined).length;
  };

  it('what waits at the gate of a worker that steps aside is not sent', async () => {
    const { worker, held } = fleet();
    const alone = await worker(true);
    for (let n = 1; n < ROW; n++) await alone.attempt(`n${n}`, LOST);
    expect(await together(alone.attempt)).toBe(1);
    expect([alone.holds.isAside, await held()]).toEqual([true, undefined]);
  });

  it('nor is it after a hold that another worker lifted', async () => {
    const { worker, held } = fleet();
    const [alone, other] = [await worker(), await worker()];
    for (let n = 0; n < ROW; n++) await alone.attempt(`n${n}`, LOST);
    const accepted = async () => (await other.attempt('good', ACCEPTED)) !== undefined;
    await until(accepted, { what: 'the probe' });
    expect(await together(alone.attempt)).toBe(1);
    expect([alone.holds.isAside, await held()]).toEqual([true, undefined]);
  });

  it('a worker that met a hold of another does not hold anew for one failure', async () => {
    const { worker, held } = fleet();
    const [one, other, third] = [await worker(), await worker(), await worker()];
    const ids = Array.from({ length: ROW }, (_, n) => `job${n}`);
    const underWay = await Promise.all(ids.map((id) => other.begin(id)));
    for (let n = 0; n < ROW; n++) await one.attempt(`n${n}`, LOST);
    await until(() => other.holds.isHeld, { what: 'the hint' });
    for (const end of underWay) await end?.(LOST);
    const accepted = async () => (await third.attempt('good', ACCEPTED)) !== undefined;
    await until(accepted, { what: 'the probe' });
    await until(() => !other.holds.isHeld, { what: 'the hint' });
    await other.attempt('single', LOST);
    expect([other.holds.isAside, await held()]).toEqual([true, undefined]);
  });

  it('an acceptance ends the row', async () => {
    const { worker, held } = fleet();
    const { attempt } = await worker();
    for (let n = 1; n < 2 * ROW; n++) {
      await attempt(`n${n}`, UNKNOWN);
      if (n % (ROW - 1) === 0) await attempt(`good${n}`, ACCEPTED);
    }
    expect(await held()).toBeUndefined();
  });

  it('the first trouble uses up no attempt, a later one does where nothing is held', async () => {
    const { attempt } = await fleet().worker();
    const lost = hold('unreachable', 'row');
    expect(await attempt('n', lost)).toMatchObject({ kind: 'hold', behindMs: 1_000 });
    const again = await attempt('n', lost, { isFirstRun: false });
    expect(again).toMatchObject({ kind: 'retry', counted: true, backoff: 'far' });
  });

  it('a 429 of one notice lowers no rate limit; those of three do, once', async () => {
    const { worker, throttled } = fleet();
    const { attempt } = await worker();
    const limited = hold('throttled', 'row', { forMs: 5_000 });
    for (let time = 0; time < 5; time++) {
      const outcome = await attempt('n', limited, { isFirstRun: time === 0 });
      expect(outcome).toMatchObject(
        time === 0
          ? { kind: 'hold', behindMs: 5_000 }
          : { kind: 'retry', counted: true, backoff: { ms: 5_000 } },
      );
    }
    expect(throttled).toHaveLength(0);
    await attempt('n2', limited);
    await attempt('n3', limited);
    expect(throttled).toHaveLength(1);
  });

  it('a refusal is a notice’s own once another one was accepted with the same token', async () => {
    const { attempt } = await fleet().worker();
    expect(await attempt('n', REFUSED)).toMatchObject({ kind: 'hold' });
    await attempt('other', ACCEPTED, { tokenId: 'another token' });
    const far = await attempt('n', REFUSED, { isFirstRun: false });
    expect(far).toMatchObject({ kind: 'retry', counted: true, backoff: 'far' });
    await until(() => true, { what: 'a later time' });
    await attempt('other', ACCEPTED);
    const own = await attempt('n', REFUSED, { isFirstRun: false });
    expect(own).toEqual({ kind: 'rejected', code: 'CODE', own: true });
  });

  it('what was accepted after a 429 says nothing about the refusal that follows', async () => {
    const { attempt } = await fleet().worker();
    await attempt('n', { ...hold('throttled', 'row'), code: 'HTTP_429' } as Outcome);
    await attempt('other', ACCEPTED);
    const first = await attempt('n', REFUSED, { isFirstRun: false });
    expect(first).toMatchObject({ kind: 'retry', counted: true });
    await attempt('other', ACCEPTED);
    const own = await attempt('n', REFUSED, { isFirstRun: false });
    expect(own).toEqual({ kind: 'rejected', code: 'CODE', own: true });
  });

  it.each<[string, Outcome]>([
    ['rejections', REJECTED],
    ['refusals', REFUSED],
    ['pages', PAGE],
  ])('%s of twenty different notices in a row hold their template only', async (_, outcome) => {
    const { worker, held, templates, takenBack } = fleet();
    const { attempt } = await worker();
    for (let n = 1; n < TEMPLATE_ROW; n++) await attempt(`n${n}`, outcome);
    expect(await templates()).toEqual([]);
    const last = await attempt('last', outcome);
    expect(await templates()).toEqual(['T']);
    expect(last).toMatchObject({ kind: 'hold' });
    expect(await attempt('next', outcome)).toBeUndefined();
    expect(await attempt('other', ACCEPTED, { template: 'OTHER' })).toEqual(ACCEPTED);
    expect(await held()).toBeUndefined();
    // What was rejected goes back, also in the other processes; what only waits comes again by itself.
    const back = outcome.kind === 'rejected' ? TEMPLATE_ROW - 1 : 0;
    await until(() => takenBack.length === back, { what: 'those rejected to go back' });
  });

  it('parts of one chunk count as one, until there are a hundred', async () => {
    const { worker, templates } = fleet();
    const { attempt } = await worker();
    for (let n = 1; n < 100; n++) {
      const part = { rowId: 'chunk', isHalved: n < 90 };
      expect(await attempt(`part${n}`, REJECTED, part)).toEqual(REJECTED);
    }
    expect(await templates()).toEqual([]);
    await attempt('last', REJECTED, { rowId: 'chunk', isHalved: true });
    expect(await templates()).toEqual(['T']);
  });

  it('a chunk that no single contact is the cause of counts as four', async () => {
    const { worker, templates } = fleet();
    const { attempt } = await worker();
    for (let n = 1; n < 5; n++) await attempt(`c${n}`, REJECTED, { isHalved: true, status: 404 });
    expect(await templates()).toEqual([]);
    await attempt('last', REJECTED, { isHalved: true, status: 404 });
    expect(await templates()).toEqual(['T']);
  });

  it('a probe that is accepted lets the template go on; what it refused before is then its own', async () => {
    const { worker, templates } = fleet();
    const { attempt } = await worker();
    for (let n = 1; n <= TEMPLATE_ROW; n++) await attempt(`n${n}`, REJECTED);
    const accepted = async () => (await attempt('good', ACCEPTED)) !== undefined;
    await until(accepted, { what: 'the probe' });
    expect(await templates()).toEqual([]);
    expect(await attempt('n1', REJECTED, { isFirstRun: false })).toEqual(REJECTED);
  });

  it('another process takes back what it rejected in the same row', async () => {
    const { worker, takenBack } = fleet();
    const [one, other] = [await worker(), await worker()];
    for (let n = 1; n < 5; n++) await other.attempt(`other${n}`, REJECTED);
    for (let n = 1; n <= TEMPLATE_ROW; n++) await one.attempt(`n${n}`, REJECTED);
    other.gate.templates.templateHeld({
      name: 'T',
      template: 'T',
      kind: 'template',
      code: 'CODE',
      since: 0,
      nextProbeAt: 0,
      failedProbes: 0,
    });
    const all = TEMPLATE_ROW - 1 + 4;
    await until(() => takenBack.length >= all, { what: 'all to go back' });
    expect(new Set(takenBack).size).toBe(all);
    expect(takenBack).toHaveLength(all);
  });
});
