import type { Results } from '../results.ts';
import { figures, mainFigures } from './figures.ts';

/** Where a run is published. */
export interface Publication {
  /** File of its results. */
  readonly results: string;
  /** The marked part of bench/figures.md; see between() of page.ts. */
  readonly part: string;
  readonly text: (results: Results) => string;
  /** Whether the run also draws the charts and may replace the profiles. */
  readonly isMain: boolean;
}

/**
 * The page's own figures are those of the oldest supported major version of Node. A run under another one
 * has a file of results and a part of the page of its own, with the targets and the races of senders.
 *
 * @param node version of Node in use, such as `20.20.2`
 * @param engines `engines.node` of package.json, which begins with the oldest supported version
 */
export function publicationOf(node: string, engines: string): Publication {
  const major = majorOf(node);
  if (major === majorOf(engines)) {
    return { results: 'bench/results.json', part: 'figures', text: figures, isMain: true };
  }
  return {
    results: `bench/results-node-${major}.json`,
    part: `figures of Node ${major}`,
    text: mainFigures,
    isMain: false,
  };
}

/** The first number of a version or of a range. */
function majorOf(version: string): string {
  const major = /\d+/.exec(version)?.[0];
  if (major === undefined) throw new RangeError(`no version of Node: "${version}"`);
  return major;
}
