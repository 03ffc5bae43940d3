import {
  context,
  ProxyTracerProvider,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Span,
  type SpanOptions,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  TraceFlags,
  type Context,
  type SpanContext,
} from '@opentelemetry/api';
import type { Job } from 'bullmq';
import { NoticeQueueError } from '../contracts/errors.ts';
import type { LaneName, SeenAttempt } from '../contracts/outcome.ts';
import { VERSION } from '../contracts/version.ts';

/**
 * One trace from `send()` to the answer of the service: the call of the application (producer), each
 * run of the job (consumer), each request to the service (client). Tracing is off until the application,
 * or the program that starts the worker, registers an OpenTelemetry SDK; until then nothing is stored with
 * a job.
 *
 * Attributes contain names, codes and counts: never a phone number, a variable, a token or a message of the
 * service.
 */
const tracer = () => trace.getTracer('notice-queue', VERSION);

const MESSAGING = { 'messaging.system': 'bullmq' };

/**
 * The span of one call that enqueues notices.
 *
 * @param run gets what to store with each job; undefined without tracing
 */
export async function sendSpan<Result>(
  queue: string,
  notices: number,
  run: (carried: CarriedTrace | undefined) => Promise<Result>,
): Promise<Result> {
  if (isTracingOff()) return run(undefined);
  const parent = context.active();
  const attributes = {
    ...MESSAGING,
    'messaging.operation.type': 'send',
    'messaging.destination.name': queue,
    'messaging.batch.message_count': notices,
  };
  return inSpan('notices send', { kind: SpanKind.PRODUCER, attributes }, parent, async (span) => {
    try {
      return await run(carriedTrace(span.spanContext()));
    } catch (error) {
      failed(span, error instanceof NoticeQueueError ? error.code : 'Error');
      throw error;
    }
  });
}

async function inSpan<Result>(
  name: string,
  options: SpanOptions,
  parent: Context,
  run: (span: Span) => Promise<Result>,
): Promise<Result> {
  const span = tracer().startSpan(name, options, parent);
  try {
    return await context.with(trace.setSpan(parent, span), run, undefined, span);
  } finally {
    span.end();
  }
}

/** Spans without an SDK would cost some microseconds each. */
function isTracingOff(): boolean {
  const provider = trace.getTracerProvider();
  return (
    provider instanceof ProxyTracerProvider &&
    provider.getDelegateTracer('notice-queue') === undefined
  );
}

/**
 * The span of one run of a job, a child of the call that enqueued it. What the run throws controls the job
 * and is no error; {@link noteAttempt} records the outcome. Without it the job was requeued unsent.
 */
export async function jobSpan<Result>(
  job: Job,
  lane: LaneName,
  run: () => Promise<Result>,
): Promise<Result> {
  if (isTracingOff()) return run();
  const parent = traceOf(job.opts.telemetry?.metadata);
  const attributes = {
    ...MESSAGING,
    'messaging.operation.type': 'process',
    'messaging.destination.name': job.queueName,
    'messaging.message.id': job.id ?? '',
    'notices.lane': lane,
    'notices.outcome': 'returned',
  };
  return inSpan('notices attempt', { kind: SpanKind.CONSUMER, attributes }, parent, run);
}

/** Records an attempt in the span of its job; of several in one run, the last one. */
export function noteAttempt({ outcome, code, hold, contacts }: SeenAttempt): void {
  const span = trace.getActiveSpan();
  if (span === undefined) return;
  span.setAttributes({
    'notices.outcome': outcome,
    'notices.contacts': contacts,
    ...(code === undefined ? {} : { 'notices.code': code }),
    ...(hold === undefined ? {} : { 'notices.hold': hold }),
  });
  if (outcome === 'rejected' || outcome === 'unknown') failed(span, code ?? outcome);
}

interface RequestFacts {
  readonly status: number | undefined;
  readonly failureCode: string | undefined;
}

/** The attributes of the server. Computed once per client. */
export function serverAttributes(origin: string): Attributes {
  const { hostname, port, protocol } = new URL(origin);
  return {
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
  };
}

/** The span of one request to the service. The trace ends here: the service gets no context. */
export async function requestSpan<Facts extends RequestFacts>(
  server: Attributes,
  path: string,
  run: () => Promise<Facts>,
): Promise<Facts> {
  if (isTracingOff()) return run();
  const attributes = { 'http.request.method': 'POST', ...server, 'url.path': path };
  return inSpan('POST', { kind: SpanKind.CLIENT, attributes }, context.active(), async (span) => {
    const facts = await run();
    const { status, failureCode } = facts;
    if (status !== undefined) span.setAttribute('http.response.status_code', status);
    if (status === undefined) failed(span, failureCode ?? 'NO_ANSWER');
    else if (status >= 400) failed(span, String(status));
    return facts;
  });
}

function failed(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/**
 * How a trace is passed through the queue: as W3C Trace Context in the job option that BullMQ reserves for
 * it, in the format of BullMQ's own OpenTelemetry package. So producers in other languages that use that
 * package are understood, and the data of jobs does not change.
 *
 * Only `traceparent` and `tracestate` are passed. Baggage is not: it may contain personal data.
 */
export interface CarriedTrace {
  readonly telemetry: { readonly metadata: string };
}

/** https://www.w3.org/TR/trace-context/#traceparent-header */
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

/** What is stored with a job of a span; undefined without tracing. */
export function carriedTrace(span: SpanContext): CarriedTrace | undefined {
  if (!isSpanContextValid(span)) return undefined;
  const { traceId, spanId, traceFlags, traceState } = span;
  const flags = traceFlags.toString(16).padStart(2, '0');
  const state = traceState?.serialize() ?? '';
  const metadata = {
    traceparent: `00-${traceId}-${spanId}-${flags}`,
    ...(state === '' ? {} : { tracestate: state }),
  };
  return { telemetry: { metadata: JSON.stringify(metadata) } };
}

/** The parent context of a job's span; the root if the job has none, or an unreadable one. */
export function traceOf(metadata: string | undefined): Context {
  const span = metadata === undefined ? undefined : readMetadata(metadata);
  return span === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, span);
}

function readMetadata(metadata: string): SpanContext | undefined {
  let carried: { traceparent?: unknown; tracestate?: unknown } | null;
  try {
    carried = JSON.parse(metadata) as typeof carried;
  } catch {
    return undefined;
  }
  const { traceparent, tracestate } = carried ?? {};
  const [, traceId, spanId, flags] =
    typeof traceparent === 'string' ? (TRACEPARENT.exec(traceparent) ?? []) : [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  const span = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
    ...(typeof tracestate === 'string' ? { traceState: createTraceState(tracestate) } : {}),
  };
  return isSpanContextValid(span) ? span : undefined;
}
