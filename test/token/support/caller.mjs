// One process of a fleet: a number of callers that send with the shared token, until it is stopped. It is
// started by plain node and runs on the built files; their types are those of the sources.
import { Agent, request } from 'node:http';
import { Redis } from 'ioredis';

/**
 * @typedef {import('../../../src/contracts/token.ts').Token} Token
 * @typedef {import('./fleet-plan.ts').FleetPlan} FleetPlan
 * @typedef {import('./fleet-plan.ts').CallerCounts} CallerCounts
 */

const built = (/** @type {string} */ file) =>
  new URL(`../../../dist/src/${file}`, import.meta.url).href;
const { keysOf } = /** @type {typeof import('../../../src/redis/keys.ts')} */ (
  await import(built('redis/keys.js'))
);
const { TokenSeal } = /** @type {typeof import('../../../src/token/token-seal.ts')} */ (
  await import(built('token/token-seal.js'))
);
const { SharedToken } = /** @type {typeof import('../../../src/token/shared-token.ts')} */ (
  await import(built('token/shared-token.js'))
);

const plan = /** @type {FleetPlan} */ (JSON.parse(process.argv[2] ?? '{}'));
const agent = new Agent({ keepAlive: true, maxSockets: plan.callers + 2 });

/**
 * @param {string} path
 * @param {Token} [token]
 * @returns {Promise<{ status: number, body: string }>}
 */
function call(path, token) {
  return new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token.value}` };
    const url = `${plan.serviceUrl}${path}`;
    const sent = request(url, { method: 'POST', agent, headers }, (answer) => {
      let body = '';
      answer.setEncoding('utf8');
      answer.on('data', (/** @type {string} */ part) => (body += part));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }));
      answer.on('error', reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}

const redis = new Redis(plan.redisUrl, { maxRetriesPerRequest: null });
const subscriber = new Redis(plan.redisUrl, { maxRetriesPerRequest: null });
const shared = new SharedToken({
  redis,
  hints: {
    subscribe(channel, listener) {
      subscriber.on('message', (_, text) => listener(text));
      void subscriber.subscribe(channel);
      return () => undefined;
    },
  },
  keys: keysOf(plan.prefix, 'default').token('fleet'),
  seal: new TokenSeal('secret', 'fleet'),
  async issue() {
    const { body: fate } = await call('/fate');
    if (fate === 'die-before') process.kill(process.pid, 'SIGKILL');
    const { body: value } = await call('/token');
    if (fate === 'die-after') process.kill(process.pid, 'SIGKILL');
    return { value };
  },
  settings: plan.settings,
  issuer: `fleet:${process.pid}`,
});

const ending = new AbortController();
/** @type {CallerCounts} */
const counts = { sends: 0, goneBack: 0, errors: [] };

/** One attempt: a send, and one more after a refusal, as a worker makes it. */
async function attempt() {
  const token = await shared.get();
  if (await send(token)) return;
  const other = await shared.renew(token, { status: 401 });
  if (other !== undefined && (await send(other))) return;
  counts.goneBack += 1;
}

/** @param {Token} token */
async function send(token) {
  const { status } = await call('/send', token);
  if (status !== 200) return false;
  counts.sends += 1;
  return true;
}

async function callUntilTheEnd() {
  while (!ending.signal.aborted) {
    try {
      await attempt();
    } catch (error) {
      counts.errors.push(String(error));
    }
    // A pace that leaves the machine to others; nothing waits on its length.
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}

process.on('message', () => {
  ending.abort();
});
shared.start();
process.send?.('ready');
await Promise.all(Array.from({ length: plan.callers }, callUntilTheEnd));
await shared.stop();
redis.disconnect();
subscriber.disconnect();
agent.destroy();
process.send?.(counts, () => process.disconnect());
