/**
 * Merges the metrics of several processes, each in the text format of Prometheus, into one text.
 * Values are not added up: the label `process` separates the series, so that only the counters of a
 * restarted process start at 0.
 */
export function mergeTexts(texts: readonly string[]): string {
  /** Comments and samples by the metric's name; the format requires all lines of a metric together. */
  const metrics = new Map<string, { readonly head: Set<string>; readonly samples: string[] }>();
  for (const text of texts) {
    let name = '';
    for (const line of text.split('\n')) {
      if (line === '') continue;
      const [, comment] = /^# (?:HELP|TYPE) (\S+)/.exec(line) ?? [];
      name = comment ?? name;
      const metric = metrics.get(name) ?? { head: new Set(), samples: [] };
      metrics.set(name, metric);
      if (comment === undefined) metric.samples.push(line);
      else metric.head.add(line);
    }
  }
  return [...metrics.values()]
    .map(({ head, samples }) => `${[...head, ...samples].join('\n')}\n`)
    .join('\n');
}
