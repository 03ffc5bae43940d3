import { Counter, Gauge, Histogram, Registry } from 'prom-client';

type MetricOf<Row extends Metric> = Row['type'] extends 'counter'
  ? Counter<LabelsOf<Row>>
  : Row['type'] extends 'gauge'
    ? Gauge<LabelsOf<Row>>
    : Histogram<LabelsOf<Row>>;

/** The metrics of one table in a registry of their own. */
export class MetricTable<Rows extends MetricRows> {
  readonly registry = new Registry();
  readonly #rows: Rows;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  /** A metric is exported from the first call for it. */
  metric<Name extends keyof Rows & string>(name: Name): MetricOf<Rows[Name]> {
    const row: Metric = this.#rows[name] ?? { type: 'gauge', help: '' };
    const made = this.registry.getSingleMetric(name) ?? this.#make(name, row);
    return made as MetricOf<Rows[Name]>;
  }

  #make(name: string, { type, help, labels = {}, buckets = [] }: Metric) {
    const labelNames = Object.keys(labels);
    const configuration = { name, help, labelNames, registers: [this.registry] };
    if (type === 'histogram') return new Histogram({ ...configuration, buckets: [...buckets] });
    return type === 'counter' ? new Counter(configuration) : new Gauge(configuration);
  }
}

/**
 * One row of the metric tables: the only definition of the meaning and labels of a metric. The export
 * and docs/metrics.md are made from it.
 *
 * Labels are bounded: each takes its values from a closed set that the row lists or, where the row
 * describes it, has one value per process. No label contains an id, a phone number, a template or a
 * text of the service.
 */
export interface Metric {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** Values by label; a text that describes them where they cannot be listed. */
  readonly labels?: Readonly<Record<string, readonly string[] | string>>;
  /** Upper bounds of a histogram, in seconds. */
  readonly buckets?: readonly number[];
}

/** Rows by the metric's name. */
export type MetricRows = Readonly<Record<string, Metric>>;

/** Names of a row's labels. */
type LabelsOf<Row extends Metric> = Row extends { readonly labels: infer Labels }
  ? Extract<keyof Labels, string>
  : never;
