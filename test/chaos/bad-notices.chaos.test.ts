import { expect, it } from 'vitest';
import { until } from '../support/wait.ts';
import { answers, BAD, during } from './support/faults.ts';
import { play, toPlay, type Scenario } from './support/scenario.ts';
import type { BadNotices, Stage } from './support/stage.ts';

/** What a good notice may wait, from its receipt: a queue of two seconds, and a second for the machine. */
const WAIT_MS = 3_000;

/** One in ten, some of which are being split whenever something breaks. */
const SPOILED_CHUNKS = 40;
/** How long a part of all requests is answered with 503, in milliseconds. */
const PART_MS = 1_500;

/** Tokens that are revoked before notices are refused as if theirs were. */
const REVOKED = 3;

/** Tokens are revoked, each after notices were accepted with it. */
async function revokeSome(stage: Stage): Promise<number> {
  const { emulator } = stage.fleet;
  let revoked = 0;
  for (let death = 0; death < REVOKED; death++) {
    const { issued } = emulator.record().tokens;
    revoked += emulator.revokeTokens();
    await until(() => emulator.record().tokens.issued > issued, { what: 'the next token' });
    const { contacts } = emulator.record();
    const done = await stage.endOfRuns();
    await until(() => emulator.record().contacts > contacts, { what: 'a send with it' });
    await done();
  }
  return revoked;
}

/** Bad notices among good ones, in the lane of single notices beside a batch. */
const among = (
  name: string,
  bad: BadNotices,
  before: (stage: Stage) => Promise<number> = () => Promise.resolve(0),
): Scenario => ({
  name,
  waitMs: WAIT_MS,
  mostInDoubt: 0,
  plan: { seconds: 10, noticesPerSecond: 12, emulator: { keepDetails: 1_000_000 } },
  disturb: async (stage) => {
    await stage.fault();
    const struck = await before(stage);
    await stage.sendBad(bad);
    await until(() => stage.areBadOver(), {
      what: 'the end of the bad notices',
      deadlineMs: 30_000,
      everyMs: 50,
    });
    return struck + stage.clearFaults();
  },
});

/** Notices that the service refuses for themselves. */
it.each(
  toPlay([
    { ...among('a foreign sender key', BAD.foreign), inShort: true },
    among('a page for one number', BAD.page),
    among('401 with a code of its own', BAD.unknownSender),
    among(
      '401 with a code of its own, after early deaths of tokens',
      BAD.unknownSender,
      revokeSome,
    ),
    {
      name: 'bad contacts in a batch',
      plan: { seconds: 10, spoiledChunks: SPOILED_CHUNKS },
      disturb: async (stage) => {
        const struck = await during(answers({ status: 503, rate: 0.3 }), PART_MS)(stage);
        await stage.fault();
        const [worker] = stage.live();
        if (worker === undefined) throw new Error('no worker');
        stage.fell(worker, 'SIGKILL');
        stage.replace();
        return struck;
      },
    },
  ]),
)('%s', async (_name, scenario) => {
  expect(await play(scenario)).toEqual([]);
});
