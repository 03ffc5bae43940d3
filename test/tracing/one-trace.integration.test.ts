import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startEmulator, type Emulator } from '../../src/emulator/emulator.ts';
import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { numbers } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { until } from '../support/wait.ts';
import {
  startWorkerInProcess,
  type WorkerInProcess,
} from '../workers/support/worker-in-process.ts';

const SLOWLY = { deadlineMs: 20_000 };

/** Producer, worker and emulator in this process, and an SDK that keeps every span. */
describe('a trace', () => {
  const redis = testRedis();
  const exporter = new InMemorySpanExporter();
  let emulator: Emulator;
  let queue: NoticeQueue;
  let worker: WorkerInProcess | undefined;
  let prefix: string;

  beforeEach(async () => {
    emulator = await startEmulator();
    prefix = redis.freshPrefix();
    queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
  });

  afterEach(async () => {
    await worker?.stop();
    worker = undefined;
    await queue.close();
    await emulator.close();
    trace.disable();
    context.disable();
    exporter.reset();
  });

  function register(): void {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    const spanProcessors = [new SimpleSpanProcessor(exporter)];
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }));
  }

  async function work(): Promise<void> {
    const env = { BASE_URL: emulator.url, BACKOFF_BASE_MS: '10' };
    worker = await startWorkerInProcess(redis.url, prefix, env);
  }

  const spans = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name);
  const ended = (name: string, count: number) =>
    until(() => spans(name).length >= count && spans(name), {
      what: `${count} of ${name}`,
      ...SLOWLY,
    });
  const idOf = (span: ReadableSpan | undefined) => span?.spanContext().spanId;
  const notices = (list: readonly string[]) =>
    list.map((contact) => ({
      templateCode: 'SECRET_TEMPLATE',
      contacts: [{ contact, var1: 'Kim' }],
    }));

  it('leads from the application through the queue to the service', async () => {
    register();
    const [number = ''] = numbers(1);
    const [notice] = notices([number]);
    if (notice === undefined) throw new Error('no notice');
    const { id } = await trace.getTracer('application').startActiveSpan('order', async (span) => {
      const receipt = await queue.send(notice);
      span.end();
      return receipt;
    });
    await work();
    const [attempt] = await ended('notices attempt', 1);
    const [order] = spans('order');
    const [send] = spans('notices send');
    const post = spans('POST').find(
      ({ attributes }) => attributes['url.path'] === '/api/v2/notices/send',
    );

    const { traceId } = order?.spanContext() ?? {};
    for (const span of [send, attempt, post]) expect(span?.spanContext().traceId).toBe(traceId);
    expect(send?.parentSpanContext?.spanId).toBe(idOf(order));
    expect(attempt?.parentSpanContext).toMatchObject({ spanId: idOf(send), isRemote: true });
    expect(post?.parentSpanContext?.spanId).toBe(idOf(attempt));
    expect([send?.kind, attempt?.kind, post?.kind]).toEqual([
      SpanKind.PRODUCER,
      SpanKind.CONSUMER,
      SpanKind.CLIENT,
    ]);
    expect(attempt?.attributes).toMatchObject({
      'messaging.message.id': id,
      'notices.lane': 'notices',
      'notices.outcome': 'accepted',
      'notices.contacts': 1,
    });
    expect(post?.attributes).toMatchObject({
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
    });
    const token = spans('POST').find(
      ({ attributes }) => attributes['url.path'] === '/api/v2/token',
    );
    expect(token?.parentSpanContext?.spanId).toBe(idOf(attempt));

    const told = JSON.stringify(
      exporter.getFinishedSpans().map(({ name, attributes, events, status }) => ({
        name,
        attributes,
        events,
        status,
      })),
    );
    for (const secret of [number, 'Kim', 'SECRET_TEMPLATE', 'emulator-secret-key', 'earer']) {
      expect(told).not.toContain(secret);
    }
  });

  it('holds every attempt of a job, each with its outcome', async () => {
    register();
    emulator.addFault({ on: 'send', status: 503, times: 1 });
    await queue.sendMany(notices(numbers(1)));
    await work();
    const attempts = await ended('notices attempt', 2);
    const [send] = spans('notices send');
    for (const attempt of attempts) expect(attempt.parentSpanContext?.spanId).toBe(idOf(send));
    expect(attempts.map(({ attributes }) => attributes['notices.outcome'])).toEqual([
      'unknown',
      'accepted',
    ]);
    expect(attempts[0]?.attributes).toMatchObject({ 'error.type': 'HTTP_503' });
    expect(attempts[0]?.status.code).toBe(SpanStatusCode.ERROR);
    expect(attempts[1]?.status.code).toBe(SpanStatusCode.UNSET);
  });

  it('says what failed in the call that queues, by code', async () => {
    register();
    await expect(
      queue.sendMany(notices(numbers(2)), { idempotencyKey: 'k' }),
    ).resolves.toHaveLength(2);
    await expect(
      queue.sendMany(notices(numbers(2, 5)), { idempotencyKey: 'k' }),
    ).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
    const [fine, failed] = spans('notices send');
    expect(fine?.attributes['messaging.batch.message_count']).toBe(2);
    expect(failed?.attributes['error.type']).toBe('IDEMPOTENCY_CONFLICT');
    expect(failed?.status).toEqual({ code: SpanStatusCode.ERROR });
  });

  it('is not there, and a job carries nothing, where no SDK is registered', async () => {
    const { id } = await queue.send({ templateCode: 'T', contacts: [{ contact: '01000000000' }] });
    const opts = await redis.client.hget(keysOf(prefix, 'default').noticeJob(id), 'opts');
    expect(JSON.parse(opts ?? '{}')).not.toHaveProperty('tm');
    await work();
    await until(() => emulator.record().distinct === 1, { what: 'sent', ...SLOWLY });
    expect(exporter.getFinishedSpans()).toEqual([]);
  });
});
