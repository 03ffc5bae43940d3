import type { Fault } from '../../../src/emulator/faults/fault.ts';
import { until } from '../../support/wait.ts';
import type { Scenario } from '../support/scenario.ts';
import { ENV } from '../support/settings.ts';

const STORM_MS = 1_500;
/** Long enough for the probes to have reached their longest distance. */
const NO_CREDIT_MS = 60_000;
/** Longer than the deadline of an issuance: one whose last try meets a service that is back holds nothing. */
const NO_TOKENS_MS = 2 * Number(ENV.ISSUE_DEADLINE_MS);

/** So often another program issues. */
const FOREIGN = 5;

/** The service fails so for a while. */
const storm = (name: string, fault: Omit<Fault, 'on'>, rest: Partial<Scenario> = {}): Scenario => ({
  name,
  bound: 'network',
  disturb: (stage) => stage.serviceFault(fault, STORM_MS),
  ...rest,
});

/**
 * A page may be a notice's own: its template is held after twenty in a row. Until then a notice comes again after a
 * second, and only its first page uses up no attempt.
 */
const PAGE = { spent: STORM_MS / 1_000 } as const;

/** A storm whose answers speak of the account and not of the notice. */
const held = (
  name: string,
  hold: NonNullable<Scenario['hold']>,
  fault: Omit<Fault, 'on'>,
  rest: Partial<Scenario> = {},
): Scenario =>
  storm(name, fault, { bound: 'hold', harmless: true, exactTokens: true, hold, ...rest });

const THROTTLED = { status: 429, retryAfter: 1 };

const HTML = {
  bodyText: '<html>Welcome</html>',
  headers: { 'content-type': 'text/html' },
};

/** Answers of the service, and answers that are none. */
export const ANSWER_SCENARIOS: readonly Scenario[] = [
  storm('500 to one in ten', { status: 500, rate: 0.1, seed: 1 }),
  storm('500 after the service acted', {
    status: 500,
    afterActing: true,
    rate: 0.1,
    seed: 2,
  }),
  storm('503 to all', { status: 503 }),
  // A probe comes when the time is over that the service itself has asked for.
  // A row of twelve in one process takes a second: the last three come one after the other.
  held('429 with seconds', 'throttled', THROTTLED, {
    bound: 'throttle',
    disturb: (stage) => stage.serviceFault(THROTTLED, 2 * STORM_MS),
  }),
  held(
    '402',
    'credit',
    { status: 402 },
    { disturb: (stage) => stage.serviceFault({ status: 402 }, NO_CREDIT_MS) },
  ),
  ...[200, 404].map((status) =>
    held(`a page with ${status}`, 'address', { status, ...HTML }, PAGE),
  ),
  held('redirects', 'address', {
    status: 302,
    headers: { location: 'http://127.0.0.1:9/' },
  }),
  storm('garbage', {
    garbage: 'this is not HTTP\r\n\r\n',
    rate: 0.33,
    seed: 3,
  }),
  storm('bodies of 100 MB', { hugeBody: 100_000_000, rate: 0.05, seed: 4 }),
  storm('answers cut short', {
    truncate: 3,
    rate: 0.33,
    seed: 5,
  }),
  storm('slow answers', {
    slowBody: { bytes: 5, everyMs: 30 },
    rate: 0.2,
    seed: 6,
  }),
  storm('answers that never come', {
    hang: 'after-acting',
    rate: 0.5,
    seed: 7,
  }),
  {
    name: 'a certificate that does not verify',
    bound: 'hold',
    hold: 'address',
    plan: { tls: true },
    disturb: async (stage) => {
      const { front } = stage;
      await stage.fault();
      const before = front.refused;
      front.show('other');
      await stage.wait(STORM_MS);
      front.show('local');
      stage.mended();
      return front.refused - before;
    },
  },
];

/** Tokens that die, and an endpoint that issues none. */
export const TOKEN_SCENARIOS: readonly Scenario[] = [
  {
    name: 'tokens revoked',
    // With the documented code alone, five within seconds look like another issuer.
    plan: { seconds: 16, emulator: { deadTokenCodes: 'field' } },
    bound: 'hold',
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
    // Within the budget each is replaced; token-war.fleet.test.ts spends it.
    bound: 'hold',
    harmless: true,
    exactTokens: true,
    plan: { seconds: 20 },
    disturb: async (stage) => {
      const { emulator } = stage.fleet;
      for (let time = 1; time <= FOREIGN; time++) {
        await stage.fault();
        const { issued } = emulator.record().tokens;
        emulator.issueForeign();
        await until(() => emulator.record().tokens.issued > issued, {
          what: 'an issuance of the fleet',
          deadlineMs: 20_000,
          everyMs: 5,
        });
        const done = await stage.endOfRuns();
        const before = emulator.record().contacts;
        await until(() => emulator.record().contacts > before, {
          what: 'a send after the foreign issuance',
          deadlineMs: 20_000,
          everyMs: 5,
        });
        if (time === FOREIGN) stage.mended();
        // A token that worked is the next to die: the process that asked for it has reported its first acceptance.
        await done();
      }
      return emulator.record().tokens.foreign;
    },
  },
  {
    name: 'the token endpoint answers 503',
    bound: 'hold',
    hold: 'token-unavailable',
    harmless: true,
    disturb: async (stage) => {
      stage.fleet.emulator.revokeTokens();
      return stage.serviceFault({ on: 'token', status: 503 }, NO_TOKENS_MS);
    },
  },
  {
    name: 'the key pair is refused',
    bound: 'hold',
    hold: 'credentials',
    harmless: true,
    exactTokens: true,
    disturb: async (stage) => {
      const { emulator } = stage.fleet;
      const accessKey = 'emulator-access-key';
      await stage.fault();
      const before = emulator.record().tokens.refused;
      emulator.setApp({ accessKey, secretKey: 'another' });
      await stage.wait(STORM_MS);
      emulator.setApp({ accessKey, secretKey: 'emulator-secret-key' });
      stage.mended();
      return emulator.record().tokens.refused - before;
    },
  },
];
