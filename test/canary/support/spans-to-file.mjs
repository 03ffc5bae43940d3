/// <reference types="node" />
// Loaded into every program before anything else (NODE_OPTIONS=--import): writes each span that ends to the
// file CANARY_SPANS, as an exporter of OpenTelemetry would send it.
import { appendFileSync } from 'node:fs';
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';

const file = process.env['CANARY_SPANS'] ?? '';

/** @type {import('@opentelemetry/sdk-trace-base').SpanProcessor} */
const toFile = {
  onStart: () => undefined,
  onEnd: ({ name, attributes, events, links, status, resource }) => {
    const span = { name, attributes, events, links, status, resource: resource.attributes };
    appendFileSync(file, `${JSON.stringify(span)}\n`);
  },
  forceFlush: () => Promise.resolve(),
  shutdown: () => Promise.resolve(),
};

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [toFile] }));
