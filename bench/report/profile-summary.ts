import type { Profiler } from 'node:inspector';

/** Where the time of one process went, idle time left out. */
export interface ProfileSummary {
  /** Share of the busy time by module, greatest first. */
  readonly modules: readonly (readonly [string, number])[];
  /** The same by function. */
  readonly functions: readonly (readonly [string, number])[];
}

/** Not work of the program: waiting, and the profiler itself. */
const NO_WORK = new Set(['(idle)', '(program)', '(root)']);

/** @param most how many of each are listed */
export function summaryOf(profile: Profiler.Profile, most: number): ProfileSummary {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const modules = new Map<string, number>();
  const functions = new Map<string, number>();
  let busy = 0;
  for (const [at, id] of (profile.samples ?? []).entries()) {
    const frame = nodes.get(id)?.callFrame;
    if (frame === undefined || NO_WORK.has(frame.functionName)) continue;
    const us = profile.timeDeltas?.[at] ?? 0;
    const module = moduleOf(frame);
    if (module === 'the profiler') continue;
    busy += us;
    modules.set(module, (modules.get(module) ?? 0) + us);
    const name = `${frame.functionName || '(anonymous)'} (${module})`;
    functions.set(name, (functions.get(name) ?? 0) + us);
  }
  const shares = (times: ReadonlyMap<string, number>) =>
    [...times]
      .sort(([, left], [, right]) => right - left)
      .slice(0, most)
      .map(([name, us]) => [name, us / busy] as const);
  return { modules: shares(modules), functions: shares(functions) };
}

/** The package, our folder, or the part of Node that a function belongs to. */
function moduleOf({ functionName, url }: Profiler.Profile['nodes'][number]['callFrame']): string {
  const inPackage = /node_modules\/((?:@[^/]+\/)?[^/]+)/g;
  const packages = [...url.matchAll(inPackage)];
  const last = packages.at(-1)?.[1];
  if (last !== undefined) return last;
  const ours = /\/dist\/((?:src\/)?[^/]+)\//.exec(url)?.[1];
  if (ours !== undefined) return ours === 'bench' ? 'bench' : `ours: ${ours}`;
  if (url.startsWith('node:inspector') || (url === '' && functionName === 'dispatch')) {
    return 'the profiler';
  }
  if (url.startsWith('node:')) return `Node: ${url.slice(5).replace('internal/', '')}`;
  if (url.startsWith('wasm:')) return 'undici';
  if (functionName === '(garbage collector)') return 'garbage collection';
  return url === '' ? `Node: ${functionName} (system call)` : 'other';
}
