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
