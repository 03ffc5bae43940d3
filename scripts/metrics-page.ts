import { FLEET_METRICS } from '../src/metrics/fleet-table.ts';
import type { Metric, MetricRows } from '../src/metrics/registry.ts';
import { WORKER_METRICS } from '../src/metrics/worker-table.ts';

/** A label with more values than this is shown without them. */
const MOST_SHOWN = 12;

/** Text of docs/metrics.md, made from the tables that the program exports from. */
export function metricsPage(generatedBy: string): string {
  return `<!-- ${generatedBy} -->
<!-- prettier-ignore-start -->

# Metrics

In the text form of Prometheus, in two places that complete each other. Names stay what they are;
labels take their values from closed sets, so that the number of series is bounded: no label holds an
id, a phone number, a template or a text of the service.

- **Workers** export their metrics, each process on the port of its \`HEALTH_ADDRESS\`.
- **The fleet**: what Redis knows of the account, whichever worker or none runs.

\`deploy/prometheus/alerts.yml\` holds alert rules and \`deploy/grafana/notice-queue.json\` a dashboard
for both; a test holds them to what is really exported.

## Workers

${table(WORKER_METRICS)}

Beside these, prom-client's usual \`process_*\` and \`nodejs_*\` metrics of each process:
\`nodejs_eventloop_lag_max_seconds\` is the longest time since the last scrape that the process did one
thing only.

## The fleet

${table(FLEET_METRICS)}

## Buckets

| Histogram | Upper bounds in seconds |
|---|---|
${rowsOf(WORKER_METRICS)
  .flatMap(([name, { buckets }]) =>
    buckets === undefined ? [] : [`| \`${name}\` | ${buckets.join(', ')} |`],
  )
  .join('\n')}

<!-- prettier-ignore-end -->
`;
}

function table(rows: MetricRows): string {
  const lines = rowsOf(rows).map(
    ([name, row]) => `| \`${name}\` | ${row.type} | ${labels(row)} | ${asCode(row.help)} |`,
  );
  return ['| Metric | Type | Labels | Meaning |', '|---|---|---|---|', ...lines].join('\n');
}

function labels({ labels = {} }: Metric): string {
  return Object.entries(labels)
    .map(([label, values]) => {
      if (typeof values === 'string') return `\`${label}\`: ${values}`;
      return values.length > MOST_SHOWN
        ? `\`${label}\`: one of ${values.length}`
        : `\`${label}\`: ${values.join(', ')}`;
    })
    .join('; ');
}

/** Formats the names of variables in a sentence as code. */
function asCode(text: string): string {
  return text.replaceAll(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g, (name) => `\`${name}\``);
}

const rowsOf = (rows: MetricRows): readonly (readonly [string, Metric])[] => Object.entries(rows);
