import { describe, expect, it } from 'vitest';
import { QUEUE_NAME } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';
import { startOps } from './support/ops-bench.ts';

const redis = testRedis();
const NUMBER = '01000000042';

async function bench() {
  const { prefix, taker } = redis.account();
  const server = await startOps(redis.url, prefix);
  const viewer = await server.viewer();
  await server.context.notices.send({
    templateCode: 'T',
    senderKey: '0299998888',
    contacts: [{ contact: NUMBER, var1: 'Kim Cheolsu' }],
  });
  return { server, viewer, taker };
}

describe('the board of the queues', () => {
  it('shows jobs without a number or a value, waiting and failed', async () => {
    const { viewer, taker } = await bench();
    const waiting = await viewer.get('/queues/api/queues?activeQueue=send&status=waiting');
    expect(waiting.status).toBe(200);
    expect(waiting.text).toContain('"contacts":1');

    const worker = taker();
    const job = await worker.getNextJob('token');
    await job?.moveToFailed(new Error('HTTP_503'), 'token');
    const failed = await viewer.get('/queues/api/queues?activeQueue=send&status=failed');
    expect(failed.text).toContain('HTTP_503');
    const one = await viewer.get(`/queues/api/queues/send/${job?.id}`);
    expect(one.status).toBe(200);
    for (const { text } of [waiting, failed, one]) {
      expect(text).not.toMatch(/1000000042|0299998888|Cheolsu/);
    }
  });

  it('has no job under the name of a key of BullMQ, nor a file outside of its own', async () => {
    const { server, viewer } = await bench();
    const repeated = { name: 'send', data: { v: 1 } };
    await server.context.sendQueue.upsertJobScheduler('daily', { every: 86_400_000 }, repeated);
    const keys = ['wait', 'events', 'meta', 'repeat:daily'].map((key) => `api/queues/send/${key}`);
    const above = ['..%2f..%2fx', '../package.json', '%2e%2e/package.json', '..%5cx', '%00'];
    for (const path of [...keys, ...above.map((file) => `static/${file}`)]) {
      const { status } = await viewer.get(`/queues/${path}`);
      expect([path, status]).toEqual([path, 404]);
    }
  });

  it('shows nothing that another producer wrote beside the data', async () => {
    const { server, viewer } = await bench();
    const { sendQueue } = server.context;
    const id = `foreign-${NUMBER}`;
    const opts = { jobId: id, telemetry: { metadata: NUMBER }, rrOptions: { to: NUMBER } };
    const data = { templateCode: `${NUMBER} hello`, batch: NUMBER, delivery: NUMBER };
    await sendQueue.add(`to ${NUMBER}`, { v: 1, ...data, notice: data }, opts);
    const key = `${server.context.keys.bullPrefix}:${QUEUE_NAME}:${id}`;
    await redis.client.hset(key, {
      failedReason: `no route to ${NUMBER}`,
      stacktrace: JSON.stringify([`at ${NUMBER}`]),
      pb: NUMBER,
      progress: JSON.stringify({ to: NUMBER }),
    });
    const list = await viewer.get('/queues/api/queues?activeQueue=send&status=waiting');
    const one = await viewer.get(`/queues/api/queues/send/${id}`);
    const flow = await viewer.get(`/queues/api/queues/send/${id}/flow`);
    expect([list.status, one.status]).toEqual([200, 200]);
    expect(one.text).toContain('no route to [number]');
    expect(one.text).toContain('"templateCode":"[number] hello"');
    expect(list.text + one.text).not.toContain(NUMBER);
    // What was asked for is all that it repeats.
    expect(flow.json).toEqual({ nodeId: id, flowRoot: null, isFlowNode: false });
  });

  it('shows the id of a list and of its jobs with the date in it', async () => {
    const { server, viewer } = await bench();
    const [batch, jobId] = ['spring-2026-11-29', 'c-spring-2026-11-29-0'];
    await server.context.sendQueue.add('chunk', { v: 1, batch, chunk: 0 }, { jobId });
    const { text } = await viewer.get(`/queues/api/queues/send/${jobId}`);
    expect(text).toContain(`"id":"${jobId}"`);
    expect(text).toContain(`"batch":"${batch}"`);
  });

  it('shows of a job that another producer repeats no number and no value, and no log of a job', async () => {
    const { server, viewer } = await bench();
    const { sendQueue } = server.context;
    const notice = { templateCode: 'T', contacts: [{ contact: NUMBER, var1: 'Kim Cheolsu' }] };
    const template = { name: 'send', data: { v: 1, notice } };
    await sendQueue.upsertJobScheduler('daily', { every: 86_400_000 }, template);
    const named = { name: `to ${NUMBER}`, data: {}, opts: { failParentOnFailure: true } };
    await sendQueue.upsertJobScheduler(`of ${NUMBER}`, { every: 86_400_000 }, named);
    const { status, text } = await viewer.get('/queues/api/job-schedulers');
    expect([status, text]).toEqual([200, expect.stringContaining('daily')]);
    expect(text).not.toMatch(/1000000042|Cheolsu/);
    const { id } = await sendQueue.add('send', {});
    await sendQueue.addJobLog(String(id), `to ${NUMBER}`);
    const log = await viewer.get(`/queues/api/queues/send/${id}/logs`);
    expect([log.status, log.text]).toEqual([200, '[]']);
  });

  it('is a page whose files are ours, under a policy of its own', async () => {
    const { server, viewer } = await bench();
    const { text, headers } = await viewer.get('/queues', { accept: 'text/html' });
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'self'");
    expect(policy).toContain("style-src 'self' 'unsafe-inline'");
    expect(policy).toContain("base-uri 'self'");
    expect(policy).not.toMatch(/https?:|script-src|unsafe-eval/);
    const scripts = [...text.matchAll(/<script[^>]+src="(static\/[^"]+)"/g)].map(([, src]) => src);
    const styles = [...text.matchAll(/href="(static\/css\/[^"]+)"/g)].map(([, href]) => href);
    expect([scripts.length > 2, styles.length]).toEqual([true, 1]);
    for (const file of [...scripts, ...styles]) {
      expect([file, (await viewer.get(`/queues/${file}`)).status]).toEqual([file, 200]);
      expect((await server.nobody.get(`/queues/${file}`)).status).toBe(401);
    }
    // What runs as a script is a file: the policy would refuse anything else.
    expect(text).not.toMatch(/<script(?![^>]*(src=|type="application\/json"))/);
    const [, config = '{}'] = /id="__UI_CONFIG__"[^>]*>([^<]*)</.exec(text) ?? [];
    expect(JSON.parse(config)).toMatchObject({
      hideDocsLink: true,
      miscLinks: [{ url: '../' }, { url: '../batches' }, { url: '../notices' }],
    });
    for (const path of ['/queues', '/queues/', '/queues/queue/send']) {
      const page = await viewer.get(path, { accept: 'text/html' });
      const asked = [...page.text.matchAll(/<(?:link|script|img)\b[^>]*\s(?:href|src)="([^"]*)"/g)];
      expect([path, page.status, asked.length > 5]).toEqual([path, 200, true]);
      expect(asked.filter(([, url = '']) => /^(?:https?:)?\/\//.test(url))).toEqual([]);
      expect(page.text).not.toContain('googleapis');
    }
  });
});
