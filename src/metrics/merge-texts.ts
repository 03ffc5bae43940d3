/**
 * Puts metrics of several processes, each in the text form of Prometheus, into one text. Nothing is
 * added up: the label `process` keeps the series apart, so that the counters of a process that was
 * started again begin anew by themselves, and those of the others go on.
 */
export function mergeTexts(texts: readonly string[]): string {
  /** Comments and samples by the metric's name; the form wants all of one metric together. */
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
