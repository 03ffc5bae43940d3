import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/config.ts';
import { metadataOf } from '../../src/config/variable.ts';
import { rowOf, ROWS, VARIABLE_GROUPS, type VariableName } from '../../src/config/variables.ts';

/** What the compose file says of one of its services. */
interface Service {
  readonly image?: string;
  readonly environment?: Readonly<Record<string, string | number | null>>;
  readonly secrets?: readonly string[];
  readonly command?: readonly string[];
  readonly profiles?: readonly string[];
  readonly healthcheck: { readonly test?: readonly unknown[]; readonly disable?: boolean };
  readonly mem_limit?: string;
  readonly restart?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly stop_grace_period?: string;
}

const text = readFileSync('docker-compose.yml', 'utf8');
const { services, secrets } = parse(text, { merge: true }) as {
  services: Readonly<Record<string, Service>>;
  secrets: Readonly<Record<string, { readonly file: string }>>;
};
const PROGRAMS = ['worker', 'emulator-worker', 'cli', 'ops'];

const serviceOf = (name: string): Service => services[name] ?? { healthcheck: {} };
const environmentOf = (name: string) => serviceOf(name).environment ?? {};

/** The file's own Redis makes these pointless, or they send without TLS. */
const NOT_HANDED_ON: ReadonlySet<string> = new Set([
  'REDIS_SENTINELS',
  'REDIS_SENTINEL_NAME',
  'REDIS_SENTINEL_PASSWORD',
  'REDIS_TLS_CA_FILE',
]);

/** A secret is handed over as a file; the URL of the file's own Redis has no password. */
const handedAs = (name: VariableName) =>
  metadataOf(rowOf(name)).secret !== undefined && name !== 'REDIS_URL' ? `${name}_FILE` : name;

const NAMES = ROWS.map(({ variable }) => variable);
const isName = (text: string) => NAMES.some((name) => name === text);

function namesOf(group: string): VariableName[] {
  const rows = VARIABLE_GROUPS.find(({ title }) => title === group)?.rows ?? [];
  return NAMES.filter((name) => rows.some(({ variable }) => variable === name));
}

const OPS = new Set<string>(namesOf('Ops server'));

it('these are the services, and each is checked or has no need of it', () => {
  expect(Object.keys(services)).toEqual(['redis', ...PROGRAMS, 'emulator']);
  // A colon and a blank within a command would make an object of it.
  for (const { healthcheck } of Object.values(services)) {
    const types = healthcheck.test?.map((part) => typeof part);
    expect(types ?? healthcheck.disable).toEqual(healthcheck.test?.map(() => 'string') ?? true);
  }
});

describe('variables', () => {
  it.each(['worker', 'cli'])('%s gets every one, but those of the ops server', (name) => {
    const meant = NAMES.filter((one) => !NOT_HANDED_ON.has(one) && !OPS.has(one)).map(handedAs);
    const handed = new Set(Object.keys(environmentOf(name)));
    expect(handed).toEqual(new Set(meant));
  });

  it('what is not handed on is named where the variables are explained', () => {
    const [explained = ''] = text.split('x-program:');
    const [, refused = ''] = explained.split('# Not handed on');
    const named = refused.split('.')[0]?.match(/[A-Z][A-Z_]{5,}/g);
    expect(new Set(named)).toEqual(NOT_HANDED_ON);
  });

  it('the ops server gets its own, and what a producer takes', () => {
    const handed = Object.keys(environmentOf('ops'));
    for (const name of [...namesOf('Ops server'), ...namesOf('Queue')]) {
      expect(handed).toContain(handedAs(name));
    }
    expect(handed).toEqual(expect.arrayContaining(['REDIS_PREFIX', 'ACCOUNT']));
    const known = new Set<string>([...NAMES, ...NAMES.map(handedAs)]);
    expect(handed.filter((name) => !known.has(name))).toEqual([]);
  });

  it.each(['worker', 'emulator-worker', 'ops'])('%s is started again when it ended', (name) => {
    expect(serviceOf(name).restart).toBe('unless-stopped');
  });

  it('a worker has longer to stop than it takes', () => {
    const period = serviceOf('worker').stop_grace_period ?? '';
    const grace = Number(/^\$\{STOP_GRACE_PERIOD:-(\d+)s\}$/.exec(period)?.[1]);
    const takes = loadConfig({}, { service: false }).worker.shutdownTimeoutMs;
    expect(grace * 1_000).toBeGreaterThan(takes);
  });
});

describe('secrets', () => {
  const EMULATED = ['ACCESS_KEY', 'SECRET_KEY'];

  it.each(PROGRAMS)('%s gets none in its environment, and the files it names', (name) => {
    const environment = Object.entries(environmentOf(name));
    const plain = environment.filter(([variable]) =>
      NAMES.some((known) => known === variable && handedAs(known) !== variable),
    );
    expect(plain.map(([variable]) => variable)).toEqual(name === 'emulator-worker' ? EMULATED : []);
    const granted = serviceOf(name).secrets ?? [];
    const named = environment.flatMap(
      ([, value]) => /\/run\/secrets\/([\w-]+)/.exec(String(value))?.[1] ?? [],
    );
    expect(named.length).toBeGreaterThan(0);
    expect(granted).toEqual(expect.arrayContaining(named));
  });

  it.each(PROGRAMS)('%s gets each that .env may switch on', (name) => {
    const secretFiles = new Set<string>(NAMES.map(handedAs).filter((one) => !isName(one)));
    const switched = Object.entries(environmentOf(name))
      .filter(([variable, value]) => value === null && secretFiles.has(variable))
      .map(([variable]) => variable.replace(/_FILE$/, '').toLowerCase());
    expect(serviceOf(name).secrets).toEqual(expect.arrayContaining(switched));
  });

  it('the emulator and its workers use the key pair that is no secret', () => {
    const [accessKey, secretKey] = ['emulator-access-key', 'emulator-secret-key'];
    expect(environmentOf('emulator-worker')).toMatchObject({
      ACCESS_KEY: accessKey,
      SECRET_KEY: secretKey,
      ACCESS_KEY_FILE: '',
      SECRET_KEY_FILE: '',
    });
    expect(serviceOf('emulator-worker').secrets).not.toContain('secret_key');
  });

  it('no command line has one', () => {
    for (const { command = [] } of Object.values(services)) {
      expect(command.join(' ')).not.toMatch(/key|password|pass|secret/i);
    }
  });

  it('each is a file of one folder, and no service gets one that is not defined', () => {
    for (const [name, { file }] of Object.entries(secrets)) {
      expect(file).toBe(`\${SECRETS_FOLDER:-./secrets}/${name}`);
    }
    const granted = Object.values(services).flatMap((service) => service.secrets ?? []);
    expect(new Set(granted)).toEqual(new Set(Object.keys(secrets)));
  });

  it('each program is a Redis user of its own', () => {
    const users = { worker: 'worker', 'emulator-worker': 'worker', cli: 'ops', ops: 'ops' };
    for (const [name, user] of Object.entries(users)) {
      expect(environmentOf(name)).toMatchObject({
        REDIS_USERNAME: `notices-${user}`,
        REDIS_PASSWORD_FILE: `/run/secrets/notices-${user}`,
      });
    }
  });
});

describe('limits', () => {
  it.each(Object.keys(services))('%s has a limit of memory and a read-only root', (name) => {
    const service = serviceOf(name);
    expect(service.mem_limit).toMatch(/^\$\{[A-Z_]+:-\d+[mg]\}$/);
    expect(service.read_only).toBe(true);
    expect(service.security_opt).toContain('no-new-privileges:true');
  });

  it.each([...PROGRAMS, 'emulator'])('%s has no capabilities', (name) => {
    expect(serviceOf(name).cap_drop).toEqual(['ALL']);
  });

  it('Redis takes less memory than its container may', () => {
    const bytes = (size = '') => Number.parseInt(size, 10) * (/g/.test(size) ? 1_024 : 1);
    const limit = /:-(\d+[mg])/.exec(serviceOf('redis').mem_limit ?? '')?.[1];
    const data = /--maxmemory \$\{[A-Z_]+:-(\d+[mg])b\}/.exec(
      (serviceOf('redis').command ?? []).join(' '),
    )?.[1];
    expect(bytes(limit)).toBeGreaterThanOrEqual(2 * bytes(data));
  });

  it('plain http is for the emulator alone, in its profile', () => {
    const plain = Object.keys(services).filter((name) =>
      /emulator/.test(String(environmentOf(name)['INSECURE_HOSTS'])),
    );
    expect(plain).toEqual(['emulator-worker']);
    expect(serviceOf('emulator-worker').profiles).toEqual(['emulator']);
    expect(environmentOf('worker')['BASE_URL']).toBeNull();
  });
});

it('the image runs as a user without rights to its files', () => {
  const [, stage = ''] = readFileSync('Dockerfile', 'utf8').split(/^FROM .*(?<! AS build)$/m);
  expect(stage).toMatch(/^USER node$/m);
  expect(stage.slice(stage.indexOf('USER node'))).not.toMatch(/^(?:COPY|ADD|RUN|USER root)/m);
  expect(stage).not.toMatch(/--chown/);
});

it('no file, argument or variable with a secret gets into a layer of the image', () => {
  const rules = readFileSync('.dockerignore', 'utf8').split('\n');
  expect(rules.filter((rule) => rule !== '' && !rule.startsWith('#'))).toEqual([
    '*',
    '!package.json',
    '!package-lock.json',
    '!.npmrc',
    '!tsconfig.json',
    '!tsconfig.build.json',
    '!src',
    '!workers',
    '!docs/operating.md',
  ]);
  const set = readFileSync('Dockerfile', 'utf8').match(/^(?:ARG|ENV) \w+/gm);
  expect(set).toEqual(['ARG NODE_IMAGE', 'ENV NODE_ENV']);
});

it('the image is built from the program alone, which imports neither scripts nor benchmarks', () => {
  const dockerfile = readFileSync('Dockerfile', 'utf8');
  const folders = [...dockerfile.matchAll(/^COPY (\w+) /gm)].map(([, folder]) => folder);
  expect(folders).toEqual(['src', 'workers']);
  expect(dockerfile).toMatch(/^RUN npx --no-install tsc -p tsconfig\.build\.json$/m);
});

it('the image has the files of the package that the program reads', () => {
  const dockerfile = readFileSync('Dockerfile', 'utf8');
  for (const source of ['src/ops/web/assets.ts', 'src/ops/web/pages/help.ts']) {
    const [, file = ''] = /ofPackage\('(.*?)\/?'\)/.exec(readFileSync(source, 'utf8')) ?? [];
    expect(dockerfile).toMatch(
      new RegExp(`^COPY (?:--from=build /app/)?${file} \\./${file}$`, 'm'),
    );
  }
});

it('the image lists the packages that it contains, and no other', () => {
  const [build = '', stage = ''] = readFileSync('Dockerfile', 'utf8').split(
    /^FROM .*(?<! AS build)$/m,
  );
  // `.ci/fresh-clone` runs both lines, and compares the list with the folder.
  const [, after = ''] = build.split(
    /^RUN npm pkg delete devDependencies peerDependenciesMeta && npm prune --ignore-scripts --offline$/m,
  );
  expect(after).toMatch(/^RUN npm sbom --sbom-format cyclonedx .*>sbom\.cdx\.json$/m);
  expect(stage).toMatch(/^COPY --from=build .*\/app\/sbom\.cdx\.json /m);
});

it('each image can be named by its digest', () => {
  const bases = readFileSync('Dockerfile', 'utf8').match(/^FROM \S+/gm) ?? [];
  expect(bases.map((base) => /^FROM \$\{NODE_IMAGE\}$/.test(base))).toEqual([true, true]);
  const images = Object.values(services).map(({ image }) => image);
  const fixed = images.filter((image = '') => !/^\$\{[A-Z_]+:-[\w:.-]+\}$/.test(image));
  expect(fixed).toEqual([]);
});
