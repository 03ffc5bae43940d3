import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readImportOptions } from '../../src/batch/import/import-options.ts';
import { identityOf, planImport } from '../../src/batch/import/import-plan.ts';
import { ListDigest } from '../../src/batch/import/row-processor.ts';
import { OPS_ROUTES } from '../../src/ops/web/http/route-table.ts';
import { run } from '../cli/support/run.ts';
import { ALLOWED, leaksOf } from './support/allowed.ts';
import { NOBODY, program, Visits } from './support/visits/ask.ts';
import { CANARIES, NUMBERS, OPS_VARIABLES, SECRETS } from './support/canaries.ts';
import { act, enqueue, look, Terminal } from './support/commands.ts';
import { hashesIn } from './support/dictionary.ts';
import type { Canary } from './support/forms.ts';
import {
  accepted,
  killWorker,
  notice,
  sendNotices,
  sendUnencrypted,
  startWorker,
  troubleWithRedis,
  troubleWithTokens,
  writeLists,
  type Sent,
} from './support/play.ts';
import { CanarySearch } from './support/search.ts';
import {
  loseReplies,
  queueCopied,
  queueMalformed,
  refuseWrites,
  troubleWithService,
} from './support/trouble.ts';
import { changeWrongly, visitAll } from './support/visits/visit.ts';
import { startWorld, type World } from './support/world.ts';

const MINUTES_MS = 60_000;

/** What a run of the whole program shows. */
let shown: Awaited<ReturnType<typeof play>>;

/** Secrets that the program makes itself and prints once. */
async function printedOnce(world: World, terminal: Terminal): Promise<Canary[]> {
  const place = 'output of a first start';
  const first = world.start(place, ['ops', '--port', '0'], {
    ...world.main.env,
    HEALTH_ADDRESS: '0',
  });
  const [, password = ''] = await first.says(/with the password (\S+)/);
  const args = ['ops', 'new-key', 'other', '--json'];
  const made = await terminal.run(args, { place: 'output of new-key' });
  const { key } = JSON.parse(made) as { key: string };
  return [
    { name: 'first password', value: password },
    { name: 'new API key', value: key },
  ];
}

/** The tokens that the service got; those of version 1 also as they were issued. */
function tokensOf({ tap }: World): Canary[] {
  const values = [...tap.tokens].flatMap((value) => [
    value,
    ...(value.includes('.') ? [] : [Buffer.from(value, 'base64').toString()]),
  ]);
  return values.map((value, index) => ({ name: `token ${index}`, value }));
}

/** What identifies the list of a single contact, computed without the secret of the account. */
function digestOfList(): string {
  const options = readImportOptions({ templateCode: 'CANARY' });
  const plan = planImport(options, { chunkSize: 1, delivery: 'at-most-once' });
  const digest = new ListDigest(identityOf(plan), '');
  digest.addJson(`{"contact":"${NUMBERS.onlyOne}"}`);
  return digest.content();
}

async function play() {
  const world = await startWorld();
  const sent: Sent = await sendNotices(world);
  const terminal = new Terminal(world);
  const lists = writeLists(world);
  await enqueue(terminal, world, sent, lists);
  const { batches } = JSON.parse(await terminal.run(['batches', '--json'])) as {
    batches: { id: string }[];
  };
  sent.batches.push(...batches.map(({ id }) => id));
  const emulator = ['emulator', '--port', '0', '--access-key', SECRETS.accessKey];
  const own = world.start(
    'log of an emulator',
    [...emulator, '--secret-key', SECRETS.secretKey],
    {},
  );
  await own.says(/^emulator at http/m);
  const visits = await startOps(world);
  const once = await printedOnce(world, terminal);
  const worker = await startWorker(world, world.main);
  await accepted(world, 'inList');
  await readHealth(world);
  await startWorker(world, world.open);
  await sendUnencrypted(world);
  await accepted(world, 'unencryptedInList');
  await troubleWithTokens(world, sent);
  await killWorker(world, worker, sent);
  await loseReplies(world, sent, (env) => {
    const command = ['send', '--template', 'CANARY', '--contact', NUMBERS.lostReply];
    return terminal.run(command, { env });
  });
  await accepted(world, 'killed');
  await accepted(world, 'killedInList');
  await troubleWithService(world, sent);
  await queueMalformed(world, sent);
  await look(terminal, sent);
  const unanswered = await visitAll(world, visits, sent);
  await queueCopied(world, sent);
  const metrics = await readHealth(world);
  await terminal.both('show', sent.ids.at(-1) ?? '');
  await terminal.both('waiting');
  await terminal.run(['failures', '--csv']);
  await visits.ask('/api/v1/failures.csv', program('operatorKey'));
  const another = await startOps(world, { HEALTH_ADDRESS: '0' });
  const otto = await another.signIn('otto', SECRETS.operatorPassword);
  for (const refusal of ['writesRefused', 'outOfMemory', 'readOnly'] as const) {
    await refuseWrites(world, sent, refusal, async () => {
      await another.ask('/', otto);
      await changeWrongly(another, [otto, program('senderKey')]);
      await another.ask('/api/v1/rate-limit', otto, { rateLimit: 500, why: 'a test' });
      const body = { notice: notice(NUMBERS.refusedByRedis) };
      await another.ask('/api/v1/notices', program('senderKey'), body);
      await terminal.both('send', '--template', 'CANARY', '--contact', NUMBERS.refusedByRedis);
    });
  }
  await troubleWithRedis(world, sent, async () => {
    for (const path of ['/readyz', '/', '/metrics']) await visits.ask(path, NOBODY);
    await terminal.both('status');
    await terminal.both('send', '--template', 'CANARY', '--contact', NUMBERS.whileAway);
  });
  await act(terminal, sent, lists.optedOut);
  await world.collect();
  const { written } = world;
  const canaries = [
    ...CANARIES,
    ...once,
    ...tokensOf(world),
    ...visits.sessions,
    ...another.sessions,
  ];
  const guess = { of: 'digest of a list', needles: [digestOfList().slice(0, 8)] };
  const numbers = CANARIES.filter(({ kind }) => kind === 'number');
  return {
    hits: [
      ...new CanarySearch(canaries).in(written),
      ...hashesIn(written, numbers, sent.notices, [guess]),
    ],
    written,
    commands: terminal.used,
    unanswered,
    /** Routes of the ops server that did what they are for, by method and path. */
    answered: visits.answered,
    echoed: world.tap.echoed(),
    metrics,
  };
}

/** An ops server, and visits of it. */
async function startOps(world: World, more = {}): Promise<Visits> {
  const env = { ...world.main.env, ...OPS_VARIABLES, ...more };
  const ops = world.start('log of the ops server', ['ops', '--port', '0'], env);
  const [, url = ''] = await ops.says(/^ops at (http\S+)/m);
  return new Visits(world, url);
}

/** What a worker shows about itself. @returns its metrics */
async function readHealth(world: World): Promise<string> {
  const texts: string[] = [];
  for (const path of ['/metrics', '/livez', '/readyz']) {
    const answer = await fetch(`http://127.0.0.1:${world.healthPort}${path}`);
    texts.push(await answer.text());
  }
  for (const text of texts) world.write('HTTP answer', text);
  return texts[0] ?? '';
}

/** Kinds of output that have to be there; a place without any would be searched in vain. */
const PLACES = [
  'HTTP answer',
  'Redis',
  'error of the library',
  'files of Redis',
  'log of a worker',
  'log of an emulator',
  'log of the ops server',
  'output of a command',
  'program with a wrong password',
  'state file',
  'traces',
  'webhook',
];

describe('keys, tokens, passwords, numbers and values that pass through the whole program', () => {
  it(
    'pass through every command, page and route, and through failures',
    async () => {
      shown = await play();
      const help = (await run(['help'])).stdout.split('Single notices:')[1] ?? '';
      const commands = [...(help.split('Exit codes:')[0] ?? '').matchAll(/^ {2}([a-z][a-z-]*)/gm)];
      const running = new Set(['worker', 'emulator']);
      const left = commands.map(([, name = '']) => name).filter((name) => !running.has(name));
      expect(left.filter((name) => !shown.commands.has(name))).toEqual([]);
      expect(shown.unanswered.operator).toEqual([]);
      const ofOperators = OPS_ROUTES.filter(
        ({ method, needs }) => method === 'GET' && needs === 'operator',
      );
      expect(shown.unanswered.viewer.toSorted()).toEqual(
        ofOperators.map(({ path }) => path).toSorted(),
      );
      // So that a new route is not left out; docs/openapi.json is made of the same table.
      const routes = OPS_ROUTES.map(({ method, path }) => `${method} ${path}`);
      expect(routes.filter((route) => !shown.answered.has(route))).toEqual([]);
      expect(shown.echoed).toBeGreaterThanOrEqual(20);
      for (const code of ['HTTP_500', 'JOB_INVALID', 'PAYLOAD_UNREADABLE']) {
        expect(shown.metrics).toContain(code);
      }
      const logs = (place: string) =>
        shown.written.filter((one) => one.place === place).map(({ bytes }) => bytes.toString());
      for (const place of ['log of a worker', 'log of the ops server']) {
        expect(logs(place)).toContainEqual(expect.stringMatching(/^\{"level":"info"/m));
      }
      const full = shown.written.filter(({ bytes }) => bytes.length > 20).map(({ place }) => place);
      expect(new Set(full)).toEqual(new Set([...PLACES, ...ALLOWED.map(({ place }) => place)]));
    },
    5 * MINUTES_MS,
  );

  it('are found in no form outside of the places that are allowed', () => {
    expect(leaksOf(shown.hits)).toEqual([]);
  });

  it.each(ALLOWED)(
    'are found in the place, which docs/privacy.md names: $place',
    ({ place, canaries, page }) => {
      const hits = shown.hits.filter((hit) => hit.place === place);
      const found = new Set(hits.map(({ canary }) => canary));
      expect(canaries.filter((canary) => !found.has(canary))).toEqual([]);
      expect(readFileSync('docs/privacy.md', 'utf8')).toContain(page);
    },
  );
});
