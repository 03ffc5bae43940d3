import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { freePort } from '../../scripts/redis/free-port.ts';
import { fleetMetrics } from '../../src/metrics/fleet-metrics.ts';
import { FLEET_METRICS } from '../../src/metrics/fleet-table.ts';
import type { MetricRows } from '../../src/metrics/registry.ts';
import { WORKER_METRICS } from '../../src/metrics/worker-table.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { readExposition, type Sample } from '../metrics/exposition.ts';
import { numbers, startFleet, type Fleet } from '../support/fleet.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';

const rulesFile = z.strictObject({
  groups: z.array(
    z.strictObject({
      name: z.string(),
      rules: z.array(
        z.strictObject({
          alert: z.string().regex(/^Notices[A-Z]\w+$/),
          expr: z.string(),
          for: z
            .string()
            .regex(/^\d+[mh]$/)
            .optional(),
          labels: z.strictObject({ severity: z.enum(['page', 'ticket']) }),
          annotations: z.strictObject({ summary: z.string(), description: z.string() }),
        }),
      ),
    }),
  ),
});

const dashboard = z.looseObject({
  uid: z.string(),
  templating: z.object({ list: z.array(z.looseObject({ name: z.string() })) }),
  panels: z.array(
    z.looseObject({
      id: z.int(),
      type: z.enum(['row', 'stat', 'timeseries']),
      title: z.string().min(1),
      description: z.string().optional(),
      gridPos: z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }),
      datasource: z.object({ type: z.literal('prometheus'), uid: z.string() }).optional(),
      targets: z
        .array(z.looseObject({ refId: z.string(), expr: z.string(), legendFormat: z.string() }))
        .optional(),
    }),
  ),
});

const rules = rulesFile
  .parse(parse(readFileSync('deploy/prometheus/alerts.yml', 'utf8')))
  .groups.flatMap((group) => group.rules);
const { panels, templating } = dashboard.parse(
  JSON.parse(readFileSync('deploy/grafana/notice-queue.json', 'utf8')),
);

/** Functions and keywords that the expressions may use. */
const WORDS = new Set(
  `sum max min count rate increase changes absent vector histogram_quantile max_over_time
  by on and or unless __rate_interval`.split(/\s+/),
);

/** What an expression of PromQL names, as far as that can be read without Prometheus. */
function readExpression(text: string) {
  const groups = /\b(?:by|on|without|ignoring)\s*\(([^()]*)\)/g;
  const metrics = /\b((?:notices|process|nodejs)_\w+)(?:\{([^{}]*)\})?/g;
  const selectors = [...text.matchAll(metrics)].map(([, metric = '', list = '']) => ({
    metric,
    matchers: [...list.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)].map(
      ([, label = '', operator = '', value = '']) => ({ label, operator, value }),
    ),
  }));
  const groupings = [...text.matchAll(groups)].flatMap(([, list = '']) =>
    list.split(',').map((label) => label.trim()),
  );
  const rest = text
    .replaceAll(/"[^"]*"/g, '')
    .replaceAll(groups, '')
    .replaceAll(metrics, '');
  const unknown = [...rest.matchAll(/\b[a-z_]\w*/g)].filter(([word]) => !WORDS.has(word));
  expect(unknown.map(([word]) => word)).toEqual([]);
  return { selectors, groupings };
}

const expressions = [
  ...rules.map(({ alert, expr }) => ({ where: alert, expr })),
  ...panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ refId, expr }) => ({ where: `${title} ${refId}`, expr })),
  ),
];

/** Labels that Prometheus itself gives every series. */
const GIVEN = ['instance', 'job'];

const TABLES: MetricRows = { ...WORKER_METRICS, ...FLEET_METRICS };

describe('what deploy/ names', () => {
  const redis = testRedis();
  let fleet: Fleet | undefined;
  let samples: readonly Sample[] = [];

  /** A worker and the fleet's metrics, scraped as Prometheus would. */
  beforeAll(async () => {
    const prefix = redis.freshPrefix();
    const port = await freePort();
    fleet = await startFleet({
      redisUrl: redis.url,
      prefix,
      processes: 1,
      env: { HEALTH_ADDRESS: String(port) },
    });
    const { emulator } = fleet;
    emulator.addFault({ on: 'send', status: 400, code: 'BAD', times: 1 });
    await fleet.sendEach(numbers(20));
    await until(() => emulator.record().distinct === 19, { what: 'all sent', deadlineMs: 30_000 });
    const scrape = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const ofWorkers = await until(
      async () => {
        const text = await scrape();
        const { value } = readExposition(text);
        const seen =
          value('notices_worker_ready') === 1 &&
          value('notices_attempt_codes_total', { outcome: 'rejected', code: 'OTHER' }) === 1;
        return seen && text;
      },
      { what: 'the metrics of the worker', deadlineMs: 30_000 },
    );
    const keys = keysOf(prefix, 'default');
    const ofFleet = await fleetMetrics({ redis: redis.client, keys }).text();
    samples = [ofWorkers, ofFleet].flatMap((text) => readExposition(text).samples);
  }, 120_000);

  afterAll(async () => {
    await fleet?.close();
  });

  it.each(expressions)('$where: every metric and label is exported', ({ expr }) => {
    const { selectors, groupings } = readExpression(expr);
    const labelsOf = (metric: string) =>
      new Set(
        samples.filter(({ name }) => name === metric).flatMap(({ labels }) => Object.keys(labels)),
      );
    for (const { metric, matchers } of selectors) {
      expect([metric, samples.some(({ name }) => name === metric)]).toEqual([metric, true]);
      for (const { label, operator, value } of matchers) {
        expect([metric, ...labelsOf(metric)]).toContain(label);
        const allowed = TABLES[metric.replace(/_(?:bucket|sum|count)$/, '')]?.labels?.[label];
        const named = operator.endsWith('~') ? value.split('|') : [value];
        for (const each of named) expect(allowed).toContain(each);
      }
    }
    const known = new Set([...GIVEN, ...selectors.flatMap(({ metric }) => [...labelsOf(metric)])]);
    for (const label of groupings) expect([...known]).toContain(label);
  });

  it('annotations name only labels that the expression leaves', () => {
    for (const { alert, expr, annotations } of rules) {
      const { selectors, groupings } = readExpression(expr);
      const aggregated = /\bby\b/.test(expr.split(/\bunless\b/)[0] ?? '');
      const left = aggregated
        ? groupings
        : selectors.flatMap(({ metric }) => [
            ...GIVEN,
            ...samples
              .filter(({ name }) => name === metric)
              .flatMap(({ labels }) => Object.keys(labels)),
          ]);
      const named = [
        ...`${annotations.summary} ${annotations.description}`.matchAll(/\$labels\.(\w+)/g),
      ].map(([, label]) => label ?? '');
      for (const label of named) expect([alert, ...left]).toContain(label);
    }
  });

  it('every metric is exported, and watched by a rule or a panel', () => {
    const exported = new Set(samples.map(({ name }) => name.replace(/_(?:bucket|sum|count)$/, '')));
    expect(Object.keys(TABLES).filter((name) => !exported.has(name))).toEqual([]);
    const named = new Set(
      expressions.flatMap(({ expr }) =>
        readExpression(expr).selectors.map(({ metric }) =>
          metric.replace(/_(?:bucket|sum|count)$/, ''),
        ),
      ),
    );
    // Shown by `notices status`, or only of use in a question of one's own.
    const unwatched = ['notices_worker_info', 'notices_hold_failed_probes'];
    expect(Object.keys(TABLES).filter((name) => !named.has(name))).toEqual(unwatched);
  });
});

describe('the alert rules', () => {
  it('have names of their own', () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });

  it('cover every hold', () => {
    const covered = rules.flatMap(({ expr }) =>
      readExpression(expr).selectors.flatMap(({ metric, matchers }) =>
        metric === 'notices_hold_seconds' ? matchers.flatMap(({ value }) => value.split('|')) : [],
      ),
    );
    expect(covered.sort()).toEqual([...FLEET_METRICS.notices_hold_seconds.labels.hold].sort());
  });
});

describe('the dashboard', () => {
  it('has panels, each with its own id and its source a variable', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const names = templating.list.map(({ name }) => name);
    for (const { type, datasource, targets = [], description } of panels) {
      if (type === 'row') continue;
      expect(names.map((name) => `\${${name}}`)).toContain(datasource?.uid);
      expect(targets.length).toBeGreaterThan(0);
      expect(description ?? '').not.toBe('');
    }
  });
});
