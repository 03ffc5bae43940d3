import { createTraceState, INVALID_SPAN_CONTEXT, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import { carriedTrace, traceOf } from '../../src/tracing/spans.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const metadata = (fields: Record<string, unknown>) => JSON.stringify(fields);

describe('what a job carries of a span', () => {
  it('is a traceparent in the form of W3C, where BullMQ keeps it', () => {
    expect(carriedTrace({ traceId: TRACE, spanId: SPAN, traceFlags: 1 })).toEqual({
      telemetry: { metadata: `{"traceparent":"00-${TRACE}-${SPAN}-01"}` },
    });
  });

  it('says so where the trace is not sampled, so that the worker does not begin one', () => {
    const carried = carriedTrace({ traceId: TRACE, spanId: SPAN, traceFlags: 0 });
    expect(carried?.telemetry.metadata).toContain(`${SPAN}-00"`);
  });

  it('has the tracestate with it', () => {
    const traceState = createTraceState('vendor=value');
    const carried = carriedTrace({ traceId: TRACE, spanId: SPAN, traceFlags: 1, traceState });
    expect(JSON.parse(carried?.telemetry.metadata ?? '')).toMatchObject({
      tracestate: 'vendor=value',
    });
  });

  it('is nothing where nobody traces', () => {
    expect(carriedTrace(INVALID_SPAN_CONTEXT)).toBeUndefined();
  });
});

describe('the context of a job', () => {
  it('is what was carried', () => {
    const span = { traceId: TRACE, spanId: SPAN, traceFlags: 1 };
    const context = traceOf(carriedTrace(span)?.telemetry.metadata);
    expect(trace.getSpanContext(context)).toEqual({ ...span, isRemote: true });
  });

  it('keeps the tracestate, and what a later version of W3C adds does no harm', () => {
    const text = metadata({ traceparent: `cc-${TRACE}-${SPAN}-09-more`, tracestate: 'a=b' });
    const span = trace.getSpanContext(traceOf(text));
    expect([span?.traceId, span?.traceFlags]).toEqual([TRACE, 1]);
    expect(span?.traceState?.serialize()).toBe('a=b');
  });

  it.each([
    ['nothing', undefined],
    ['no JSON', '{'],
    ['null', 'null'],
    ['a list', '[]'],
    ['no traceparent', metadata({ baggage: 'a=b' })],
    ['a number', metadata({ traceparent: 5 })],
    ['a garbled one', metadata({ traceparent: `00-${TRACE}-${SPAN}` })],
    ['zeros', metadata({ traceparent: `00-${'0'.repeat(32)}-${SPAN}-01` })],
    ['upper case', metadata({ traceparent: `00-${TRACE.toUpperCase()}-${SPAN}-01` })],
  ])('is the root for %s', (_, text) => {
    expect(trace.getSpanContext(traceOf(text))).toBeUndefined();
    expect(traceOf(text)).toBe(ROOT_CONTEXT);
  });
});
