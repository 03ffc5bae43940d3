import { createHmac } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../scripts/redis/free-port.ts';
import { Webhook } from '../../src/events/webhook.ts';
import { startReceiver } from './support/receiver.ts';

const SECRET = 'a secret of sixteen';
const NOTHING = { events: [], missed: false };
const BODY = '{"version":1,"queue":"q:default","events":[]}';

function webhook(url: string): Webhook {
  const made = new Webhook({ url, secret: SECRET, format: 'json' }, 'q:default');
  onTestFinished(() => made.close());
  return made;
}

describe('a post', () => {
  it('is signed over its moment and its body', async () => {
    const receiver = await startReceiver();
    const before = Math.floor(Date.now() / 1_000);
    expect(await webhook(receiver.url).post(NOTHING)).toEqual({ taken: true, status: 204 });
    const [post] = receiver.received;
    expect(post?.body).toBe(BODY);
    expect(post?.headers['content-type']).toBe('application/json');
    const signature = String(post?.headers['notices-signature']);
    const [, seconds = '', mac] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature) ?? [];
    expect(Number(seconds)).toBeGreaterThanOrEqual(before);
    expect(mac).toBe(createHmac('sha256', SECRET).update(`${seconds}.${BODY}`).digest('hex'));
  });

  it.each([200, 299, 400, 410, 429, 503])('with %s is taken, or is not', async (status) => {
    const receiver = await startReceiver();
    receiver.answer(status);
    const answer = status < 300 ? { taken: true, status } : { taken: false, why: `HTTP_${status}` };
    expect(await webhook(receiver.url).post(NOTHING)).toEqual(answer);
  });

  it.each([301, 302, 307, 308])('follows no redirect: %s', async (status) => {
    const [receiver, other] = [await startReceiver(), await startReceiver()];
    receiver.answer((response) => response.writeHead(status, { location: other.url }).end());
    expect(await webhook(receiver.url).post(NOTHING)).toEqual({
      taken: false,
      why: `HTTP_${status}`,
    });
    expect(other.received).toEqual([]);
  });

  it('is taken by its status, also where the answer breaks or is endless', async () => {
    const receiver = await startReceiver();
    receiver.answer((response) => {
      response.writeHead(200);
      response.write('x'.repeat(100_000));
    });
    expect(await webhook(receiver.url).post(NOTHING)).toEqual({ taken: true, status: 200 });
  });

  it('is not taken where nobody listens, or the connection breaks; the address is not told', async () => {
    const nobody = await webhook(`http://127.0.0.1:${await freePort()}/CANARY`).post(NOTHING);
    expect(nobody).toEqual({ taken: false, why: 'ECONNREFUSED' });
    const receiver = await startReceiver();
    receiver.answer((response) => response.destroy());
    const broken = await webhook(receiver.url).post(NOTHING);
    expect(broken).toMatchObject({ taken: false });
    expect(JSON.stringify(broken)).not.toContain('CANARY');
  });

  it('is given up when it is closed', async () => {
    const receiver = await startReceiver();
    let arrived = () => {};
    const waiting = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    receiver.answer(() => arrived());
    const hook = webhook(receiver.url);
    const posting = hook.post(NOTHING);
    await waiting;
    await hook.close();
    expect(await posting).toMatchObject({ taken: false });
  });
});
