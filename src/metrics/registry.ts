import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { LabelsOf, Metric, MetricRows } from './metric.ts';

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
