import { expect, it } from 'vitest';
import { setTimeout as pause } from 'node:timers/promises';
import type { Fault } from '../../src/emulator/faults/fault.ts';
import { DOUBT_ROW } from '../../src/fleet/hold/trouble.ts';
import { until } from '../support/wait.ts';
import {
  answers,
  during,
  ELSEWHERE,
  GARBAGE,
  HTML,
  noTokens,
  pairRefused,
  refused,
  THROTTLED,
  type Strike,
} from './support/faults.ts';
import { play, toPlay, type Scenario } from './support/scenario.ts';
import {
  AFTER_HOLD,
  AFTER_NETWORK,
  AFTER_OUTAGE,
  AFTER_THROTTLE,
  CHUNK_SLOTS,
  ENV,
  NOTICE_SLOTS,
  OUTAGE_MS,
  PLAN,
} from './support/settings.ts';

const STORM_MS = 1_500;
/** Long enough for the probes to have reached their longest distance. */
const NO_CREDIT_MS = 60_000;
/** Longer than the deadline of an issuance: one whose last try meets a service that is back holds nothing. */
const NO_TOKENS_MS = 2 * Number(ENV.ISSUE_DEADLINE_MS);

/** So often another program issues. */
const FOREIGN = 5;

/** The service fails so for a while. */
const storm = (name: string, fault: Omit<Fault, 'on'>): Scenario => ({
  name,
  boundMs: AFTER_NETWORK,
  disturb: during(answers(fault), STORM_MS),
});

/** What speaks of the account and not of the notice. */
const held = (
  name: string,
  hold: string,
  strike: Strike,
  ms = STORM_MS,
  rest: Partial<Scenario> = {},
): Scenario => ({
  name,
  hold,
  boundMs: AFTER_HOLD,
  harmless: true,
  exactTokens: true,
  disturb: during(strike, ms),
  ...rest,
});

/**
 * A page may be a notice's own: its template is held after twenty in a row. Until then a notice comes again after a
 * second, and only its first page uses up no attempt.
 */
const PAGE = { spent: STORM_MS / 1_000 } as const;

/** The slots of all workers; and what begins in each process before a row of failures makes it wait. */
const IN_FLIGHT = PLAN.processes * (CHUNK_SLOTS + NOTICE_SLOTS + DOUBT_ROW);

/** Outlasts all attempts: nothing is rejected, and possibly sent is what was in flight. */
const outage = (
  name: string,
  hold: string,
  strike: Strike,
  mostInDoubt = IN_FLIGHT,
  plan: Scenario['plan'] = {},
): Scenario => ({
  name: `a long outage: ${name}`,
  hold,
  mostInDoubt,
  boundMs: AFTER_OUTAGE,
  plan,
  disturb: during(strike, OUTAGE_MS),
});

/** Answers of the service, and answers that are none. */
it.each(
  toPlay([
    storm('500 to one in ten', { status: 500, rate: 0.1, seed: 1 }),
    storm('500 after the service acted', { status: 500, afterActing: true, rate: 0.1, seed: 2 }),
    storm('503 to all', { status: 503 }),
    // A probe comes when the time is over that the service itself has asked for.
    // A row of twelve in one process takes a second: the last three come one after the other.
    held('429 with seconds', 'throttled', answers(THROTTLED), 2 * STORM_MS, {
      boundMs: AFTER_THROTTLE,
      inShort: true,
    }),
    held('402', 'credit', answers({ status: 402 }), NO_CREDIT_MS),
    ...[200, 404].map((status) =>
      held(`a page with ${status}`, 'address', answers({ status, ...HTML }), STORM_MS, PAGE),
    ),
    held('redirects', 'address', answers(ELSEWHERE)),
    storm('garbage', { garbage: GARBAGE, rate: 0.33, seed: 3 }),
    storm('bodies of 100 MB', { hugeBody: 100_000_000, rate: 0.05, seed: 4 }),
    storm('answers cut short', { truncate: 3, rate: 0.33, seed: 5 }),
    storm('slow answers', { slowBody: { bytes: 5, everyMs: 30 }, rate: 0.2, seed: 6 }),
    storm('answers that never come', { hang: 'after-acting', rate: 0.5, seed: 7 }),
    {
      name: 'a certificate that does not verify',
      boundMs: AFTER_HOLD,
      hold: 'address',
      plan: { tls: true },
      disturb: during(async ({ front }, ms) => {
        const before = front.refused;
        front.show('other');
        await pause(ms);
        front.show('local');
        return front.refused - before;
      }, STORM_MS),
    },
    outage('connections refused', 'unreachable', refused, IN_FLIGHT, { service: 'all' }),
    outage('503', 'failing', answers({ status: 503 })),
    {
      ...outage(
        '500 after the service acted',
        'failing',
        answers({ status: 500, afterActing: true }),
      ),
      inShort: true,
    },
    outage('503 with Retry-After', 'failing', answers({ status: 503, retryAfter: 1 }), 0),
  ]),
)('%s', async (_name, scenario) => {
  expect(await play(scenario)).toEqual([]);
});

/** Tokens that die, and an endpoint that issues none. */
it.each(
  toPlay([
    {
      name: 'tokens revoked',
      plan: { seconds: 16 },
      boundMs: AFTER_HOLD,
      harmless: true,
      exactTokens: true,
      disturb: async (stage) => {
        const { emulator } = stage.fleet;
        let revoked = 0;
        for (let time = 0; time < 5; time++) {
          const before = emulator.record().contacts;
          await stage.fault();
          revoked += emulator.revokeTokens();
          await until(() => emulator.record().contacts > before, {
            what: 'a send after the revocation',
            deadlineMs: 20_000,
            everyMs: 5,
          });
        }
        stage.mended();
        return revoked;
      },
    },
    {
      name: 'another issuer',
      inShort: true,
      // Within the budget each is replaced; token-war.fleet.test.ts spends it.
      boundMs: AFTER_HOLD,
      harmless: true,
      exactTokens: true,
      plan: { seconds: 20 },
      disturb: async (stage) => {
        const { emulator } = stage.fleet;
        const soon = (what: string, is: () => boolean) =>
          until(is, { what, deadlineMs: 20_000, everyMs: 5 });
        for (let time = 1; time <= FOREIGN; time++) {
          await stage.fault();
          const { issued } = emulator.record().tokens;
          emulator.issueForeign();
          await soon('an issuance of the fleet', () => emulator.record().tokens.issued > issued);
          const done = await stage.endOfRuns();
          const before = emulator.record().contacts;
          await soon('a send after it', () => emulator.record().contacts > before);
          if (time === FOREIGN) stage.mended();
          // A token that worked is the next to die: the process that asked for it has reported its first acceptance.
          await done();
        }
        return emulator.record().tokens.foreign;
      },
    },
    {
      name: 'the token endpoint answers 503',
      boundMs: AFTER_HOLD,
      hold: 'token-unavailable',
      harmless: true,
      disturb: during(noTokens, NO_TOKENS_MS),
    },
    held('the key pair is refused', 'credentials', pairRefused),
  ]),
)('%s', async (_name, scenario) => {
  expect(await play(scenario)).toEqual([]);
});
