/** A package as package-lock.json lists it. */
interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly license?: string;
  readonly hasInstallScript?: boolean;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** What the gate reads. */
export interface Dependencies {
  /** package.json */
  readonly manifest: {
    readonly dependencies?: Readonly<Record<string, string>>;
    /** What workers need: an application that only sends may leave it out. */
    readonly optionalDependencies?: Readonly<Record<string, string>>;
    readonly devDependencies?: Readonly<Record<string, string>>;
    /** What the ops server needs: the image contains it, an application only if it wants to. */
    readonly peerDependencies?: Readonly<Record<string, string>>;
    readonly allowScripts?: Readonly<Record<string, boolean>>;
  };
  /** package-lock.json */
  readonly lock: { readonly packages: Readonly<Record<string, Locked>> };
  /** docs/dependencies.md */
  readonly page: string;
}

/** Licences of what an installation contains: permissive, without a condition on our own source. */
const LICENCES = new Set([
  'MIT',
  'ISC',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'Apache-2.0',
  'BlueOak-1.0.0',
  '0BSD',
]);
/** Further licences of tools that are not passed on. */
const TOOL_LICENCES = new Set([
  ...LICENCES,
  'MPL-2.0',
  'Python-2.0',
  'Unlicense',
  '(MIT OR CC0-1.0)',
]);

/** Packages whose manifest names its licence in an outdated way, which npm does not copy; read by us. */
const READ_LICENCES: Readonly<Record<string, string>> = {
  'buildcheck@0.0.7': 'MIT',
  'cpu-features@0.0.10': 'MIT',
  'ssh2@1.17.0': 'MIT',
};

/**
 * What is wrong with the dependencies, one sentence each: a package without a hash or from elsewhere, a
 * licence that was not approved, an install script that is not denied, a dependency that the page does not
 * list.
 */
export function judgeDependencies({ manifest, lock, page }: Dependencies): string[] {
  const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = manifest;
  const optional = { ...optionalDependencies, ...peerDependencies };
  const direct = { ...dependencies, ...optional };
  const ofImage = withAllBelow(Object.keys(optional), lock.packages);
  const packages = Object.entries(lock.packages)
    .filter(([folder]) => folder !== '')
    .map(([folder, { dev = false, devOptional = false, ...locked }]) => {
      const name = folder.replace(/^.*node_modules\//, '');
      // npm counts these as tools, because a clone has them as such, too.
      return { name, ...locked, dev: (dev || devOptional) && !ofImage.has(folder) };
    });
  return [
    ...packages.flatMap((one) => [...wrongSource(one), ...wrongLicence(one)]),
    ...wrongScripts(packages, manifest.allowScripts ?? {}),
    ...wrongList(page, 'Direct', [
      ...Object.keys({ ...dependencies, ...optionalDependencies }),
      ...Object.keys(manifest.devDependencies ?? {}),
    ]),
    ...wrongList(page, 'Indirect', indirectOf(packages, direct)),
  ];
}

/** Folders of these packages and of all that they need, as Node finds them. */
function withAllBelow(names: readonly string[], packages: Dependencies['lock']['packages']) {
  const found = new Set<string>();
  const add = (from: string, name: string): void => {
    const folder = `${from === '' ? '' : `${from}/`}node_modules/${name}`;
    const locked = packages[folder];
    if (locked === undefined) {
      if (from !== '') add(from.replace(/\/?node_modules\/(?:@[^/]+\/)?[^/]+$/, ''), name);
      return;
    }
    if (found.has(folder)) return;
    found.add(folder);
    for (const below of Object.keys(locked.dependencies ?? {})) add(folder, below);
  };
  for (const name of names) add('', name);
  return found;
}

type Package = Locked & { readonly name: string };

const idOf = ({ name, version = '' }: Package) => `${name}@${version}`;

function wrongSource(one: Package): string[] {
  const problems: string[] = [];
  if (one.resolved !== undefined) {
    problems.push(
      `${idOf(one)} is from ${one.resolved.replace(/:.*/, ':...')}: the lock names no address.`,
    );
  }
  if (!/^sha512-[A-Za-z0-9+/]{86}==$/.test(one.integrity ?? '')) {
    problems.push(`${idOf(one)} has no sha512 hash.`);
  }
  return problems;
}

function wrongLicence(one: Package): string[] {
  const licence = one.license ?? READ_LICENCES[idOf(one)] ?? 'none is named';
  const allowed = one.dev === true ? TOOL_LICENCES : LICENCES;
  if (allowed.has(licence)) return [];
  return [`${idOf(one)} has a licence that was not approved: ${licence}.`];
}

function wrongScripts(
  packages: readonly Package[],
  allowed: Readonly<Record<string, boolean>>,
): string[] {
  const found = packages.filter((one) => one.hasInstallScript === true).map(({ name }) => name);
  return [
    ...[...new Set(found)]
      .filter((name) => allowed[name] !== false)
      .map((name) => `${name} has an install script: deny it in allowScripts of package.json.`),
    ...Object.keys(allowed)
      .filter((name) => !found.includes(name))
      .map((name) => `${name} in allowScripts of package.json has no install script.`),
  ];
}

/** Packages that an installation contains beside the direct ones; those of one platform go with their parent. */
function indirectOf(
  packages: readonly Package[],
  direct: Readonly<Record<string, string>>,
): string[] {
  const contained = packages.filter(
    ({ dev, os, cpu }) => !dev && os === undefined && cpu === undefined,
  );
  const names = contained.map(({ name }) => name).filter((name) => !Object.hasOwn(direct, name));
  return [...new Set(names)];
}

/** Compares a section of the page: the first cells of its tables, or its lines of names. */
function wrongList(page: string, title: string, names: readonly string[]): string[] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${title} `)) ?? '';
  const listed = section
    .split('\n')
    .filter((line) => /^(?:\| )?`/.test(line))
    .map((line) => (line.startsWith('|') ? (line.split('|')[1] ?? '') : line))
    .flatMap((text) => [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
  return [
    ...names
      .filter((name) => !listed.includes(name))
      .map((name) => `${name} is new: review it, and list it in docs/dependencies.md (${title}).`),
    ...listed
      .filter((name) => !names.includes(name))
      .map((name) => `${name} in docs/dependencies.md (${title}) is no dependency any more.`),
  ];
}
