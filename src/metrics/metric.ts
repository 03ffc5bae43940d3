/**
 * What one row of the metric tables says. A row is the only place where a metric's meaning and
 * labels stand: what is exported and docs/metrics.md come from it.
 *
 * Labels are bounded: each takes its values from a closed set of ours, listed in its row, or, where
 * the row says so in words, has one value per process. No label ever holds an id, a number, a
 * template or a text of the service.
 */
export interface Metric {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** Values by label; a text where they cannot be listed, which says what they are. */
  readonly labels?: Readonly<Record<string, readonly string[] | string>>;
  /** Upper bounds of a histogram in seconds. */
  readonly buckets?: readonly number[];
}

/** Rows by the metric's name. */
export type MetricRows = Readonly<Record<string, Metric>>;

/** Names of a row's labels. */
export type LabelsOf<Row extends Metric> = Row extends { readonly labels: infer Labels }
  ? Extract<keyof Labels, string>
  : never;

/** Prometheus counts in seconds. */
export const inSeconds = (bounds: readonly number[]) => bounds.map((ms) => ms / 1_000);
