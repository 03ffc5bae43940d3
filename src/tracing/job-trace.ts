import {
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  trace,
  TraceFlags,
  type Context,
  type SpanContext,
} from '@opentelemetry/api';

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
