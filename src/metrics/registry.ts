import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Rows of a table that are of one type. */
type NamesOf<Rows extends MetricRows, Type extends Metric['type']> = {
  [Name in keyof Rows]: Rows[Name]['type'] extends Type ? Name : never;
}[keyof Rows] &
  string;

/** The metrics of one table in a registry of their own. Each method creates its metric: call it once. */
export class MetricTable<Rows extends MetricRows> {
  readonly registry = new Registry();
  readonly #rows: Rows;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  counter<Name extends NamesOf<Rows, 'counter'>>(name: Name): Counter<LabelsOf<Rows[Name]>> {
    return new Counter(this.#configuration(name));
  }

  gauge<Name extends NamesOf<Rows, 'gauge'>>(name: Name): Gauge<LabelsOf<Rows[Name]>> {
    return new Gauge(this.#configuration(name));
  }

  histogram<Name extends NamesOf<Rows, 'histogram'>>(name: Name): Histogram<LabelsOf<Rows[Name]>> {
    const buckets = [...(this.#rows[name]?.buckets ?? [])];
    return new Histogram({ ...this.#configuration(name), buckets });
  }

  #configuration<Name extends keyof Rows & string>(name: Name) {
    const { help = '', labels = {} } = this.#rows[name] ?? {};
    return {
      name,
      help,
      labelNames: Object.keys(labels) as LabelsOf<Rows[Name]>[],
      registers: [this.registry],
    };
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
export type LabelsOf<Row extends Metric> = Row extends { readonly labels: infer Labels }
  ? Extract<keyof Labels, string>
  : never;

/** Converts milliseconds to seconds, the unit of Prometheus. */
export const inSeconds = (bounds: readonly number[]) => bounds.map((ms) => ms / 1_000);
