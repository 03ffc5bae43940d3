import { afterEach, describe, expect, it } from 'vitest';
import { Deadline } from '../../src/async/cancellation.ts';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import type { CancelSignal } from '../../src/contracts/token.ts';
import { sendWithRefresh, type RefreshingCall } from '../../src/service/send-call.ts';
import { FIRST, SECOND, tokensOf } from './support/client.ts';

/** service-api, Authentication rule 4: a 401 or 403 refreshes the token and retries once. */
describe('refresh and retry once', () => {
  let deadline: Deadline;

  afterEach(() => deadline.close());

  /** Sends; the service answers these statuses, undefined for no answer. */
  async function send(statuses: readonly (number | undefined)[], guard?: RefreshingCall['guard']) {
    deadline = new Deadline(5_000);
    const left = [...statuses];
    const used: string[] = [];
    const tokens = tokensOf();
    const ended = await sendWithRefresh({
      tokens,
      deadline,
      guard,
      request: ({ id }) => {
        used.push(id);
        const status = left.shift();
        return Promise.resolve(status === 401 || status === 403 ? { status } : undefined);
      },
    }).catch((error: unknown) => error);
    return { used, renewals: tokens.renewals, ended };
  }

  it.each([401, 403])('%s: another token, and the same request once more', async (status) => {
    expect(await send([status, 200])).toEqual({
      used: [FIRST.id, SECOND.id],
      renewals: [{ id: FIRST.id, status }],
      ended: undefined,
    });
  });

  it.each([
    [401, 401],
    [401, 403],
    [403, 401],
  ])('%s, then %s: the call ends', async (...statuses) => {
    const { used, renewals } = await send(statuses);
    expect(used).toEqual([FIRST.id, SECOND.id]);
    expect(renewals).toHaveLength(1);
  });

  it.each([200, 400, 402, 404, 429, 503, undefined])('%s: one request', async (status) => {
    expect(await send([status])).toMatchObject({ used: [FIRST.id], renewals: [] });
  });

  describe('its guard', () => {
    const cancel: CancelSignal = new AbortController().signal;
    const forbidden = new Error('forbidden');

    it('is asked before each request', async () => {
      let checks = 0;
      const check = () => {
        checks += 1;
        return Promise.resolve();
      };
      await send([401, 200], { cancel, check });
      expect(checks).toBe(2);
    });

    it('forbids the first request by throwing, and the call ends so', async () => {
      const check = () => Promise.reject(forbidden);
      expect(await send([200], { cancel, check })).toMatchObject({ used: [], ended: forbidden });
    });

    it('forbids the second request', async () => {
      let checks = 0;
      const check = () => ((checks += 1) === 1 ? Promise.resolve() : Promise.reject(forbidden));
      expect(await send([401], { cancel, check })).toMatchObject({
        used: [FIRST.id],
        ended: forbidden,
      });
    });

    it('ends as a timeout when the time of the call is over meanwhile', async () => {
      deadline = new Deadline(1);
      const check = (until: CancelSignal) =>
        new Promise<void>((_, reject) => {
          until.addEventListener('abort', () => reject(forbidden));
        });
      await expect(
        sendWithRefresh({
          tokens: tokensOf(),
          deadline,
          guard: { cancel, check },
          request: () => Promise.reject(new Error('no request may be made')),
        }),
      ).resolves.toBeUndefined();
      expect(deadline.cause).toBe('timeout');
    });

    it('ends a wait for a token when its own signal is aborted', async () => {
      deadline = new Deadline(5_000);
      const stop = new AbortController();
      const waiting = sendWithRefresh({
        tokens: {
          ...tokensOf(),
          get: (until) =>
            new Promise((_, reject) => {
              until?.addEventListener('abort', () =>
                reject(new NoticeQueueError('TOKEN_UNAVAILABLE')),
              );
            }),
        },
        deadline,
        guard: { cancel: stop.signal, check: () => Promise.resolve() },
        request: () => Promise.reject(new Error('no request may be made')),
      });
      stop.abort();
      await expect(waiting).rejects.toMatchObject({ code: 'TOKEN_UNAVAILABLE' });
    });
  });
});
