import { execFileSync } from 'node:child_process';
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { findOnPath } from '../../scripts/redis/find-on-path.ts';
import { loadConfig } from '../../src/config/config.ts';
import { metadataOf } from '../../src/config/variable.ts';
import { rowOf, ROWS } from '../../src/config/variables.ts';
import { hashPassword } from '../../src/ops/web/access/accounts.ts';
import { temporaryFolder } from '../support/temporary.ts';

const [kubectl, analyze] = ['kubectl', 'systemd-analyze'].map(
  (name) => findOnPath(name, process.env['PATH']) ?? '',
) as [string, string];
const FOLDER = 'deploy/kubernetes';
const UNITS = 'deploy/systemd';
const SHUTDOWN_MS = loadConfig({}, { service: false }).worker.shutdownTimeoutMs;

const probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) });
const container = z.object({
  name: z.string(),
  image: z.literal('notice-queue'),
  args: z.array(z.string()),
  envFrom: z.tuple([z.object({ configMapRef: z.object({ name: z.literal('notices') }) })]),
  env: z.array(z.object({ name: z.string(), value: z.string() })),
  ports: z.tuple([z.object({ name: z.string(), containerPort: z.int() })]),
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
  resources: z.object({ limits: z.object({ memory: z.string() }) }),
  securityContext: z.unknown(),
  volumeMounts: z.tuple([
    z.object({ name: z.literal('secrets'), mountPath: z.string(), readOnly: z.literal(true) }),
  ]),
});
const deployment = z.object({
  kind: z.literal('Deployment'),
  spec: z.object({
    selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
    template: z.object({
      metadata: z.object({ labels: z.record(z.string(), z.string()) }),
      spec: z.object({
        terminationGracePeriodSeconds: z.int().optional(),
        // What ends is started again.
        restartPolicy: z.literal('Always').optional(),
        automountServiceAccountToken: z.literal(false),
        securityContext: z.object({
          runAsNonRoot: z.literal(true),
          seccompProfile: z.object({ type: z.literal('RuntimeDefault') }),
        }),
        containers: z.tuple([container]),
        volumes: z.tuple([
          z.object({
            secret: z.object({ items: z.array(z.object({ key: z.string(), path: z.string() })) }),
          }),
        ]),
      }),
    }),
  }),
});
const policy = z.object({
  kind: z.literal('NetworkPolicy'),
  spec: z.object({
    podSelector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
    policyTypes: z.tuple([z.literal('Ingress'), z.literal('Egress')]),
    ingress: z.tuple([z.object({ ports: z.tuple([z.object({ port: z.string() })]) })]),
    egress: z.tuple([z.object({ ports: z.array(z.object({ port: z.int() })) })]),
  }),
});

const kustomization = z
  .object({ resources: z.array(z.string()), images: z.array(z.object({ newTag: z.string() })) })
  .parse(parse(readFileSync(`${FOLDER}/kustomization.yaml`, 'utf8')));
const objects = kustomization.resources.flatMap((file) =>
  parseAllDocuments(readFileSync(`${FOLDER}/${file}`, 'utf8')).map(
    (document) => document.toJS() as { kind: string },
  ),
);
const ofKind = (kind: string) => objects.filter((object) => object.kind === kind);
const settings = environmentOf(readFileSync(`${FOLDER}/settings.env`, 'utf8').split('\n'));
const known = new Set<string>(
  ROWS.flatMap(({ variable }) =>
    metadataOf(rowOf(variable)).secret === undefined ? [variable] : [variable, `${variable}_FILE`],
  ),
);
/** The secrets as docs/deploy.md has them made. */
const secrets = temporaryFolder(afterAll);
execFileSync('sh', ['deploy/make-secrets.sh', secrets]);
appendFileSync(
  join(secrets, 'ops_users'),
  `kim:operator:${await hashPassword('a long password')}\n`,
);

function environmentOf(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, name, value] = /^([A-Z_]+)=(.*)$/.exec(line) ?? [];
      return name === undefined || value === undefined ? [] : [[name, value]];
    }),
  );
}

/**
 * Throws unless the program starts with these variables.
 *
 * @param secretAt which of the secrets a program finds at a path
 */
function checkConfiguration(
  variables: Readonly<Record<string, string>>,
  secretAt: (path: string) => string | undefined,
): void {
  const env = Object.entries(variables).map(([name, value]) => {
    if (!name.endsWith('_FILE') || name === 'STATE_FILE') return [name, value] as const;
    return [name, join(secrets, secretAt(value) ?? `nothing at ${value}`)] as const;
  });
  const { ops } = loadConfig(
    { BASE_URL: 'https://api.example.com', ...Object.fromEntries(env) },
    { service: variables['ACCESS_KEY_FILE'] !== undefined },
  );
  expect(variables['OPS_USERS_FILE'] === undefined || ops.users?.includes('kim')).toBe(true);
  expect(
    Object.keys(variables).filter((name) => !known.has(name) && name !== 'STATE_FILE'),
  ).toEqual([]);
}

it.each(['systemd', 'Kubernetes'])(
  'the page has the secrets made before %s starts, and the proxy named',
  (place) => {
    const [section = '', commands = ''] =
      new RegExp(`## ${place}\n[^]*?\`\`\`sh\n([^]*?)\`\`\``).exec(
        readFileSync('docs/deploy.md', 'utf8'),
      ) ?? [];
    expect(section).toContain('OPS_TRUSTED_PROXY');
    expect(commands).toMatch(
      /make-secrets\.sh [^]*ops hash-password [^]*>>\S*\/ops_users\n[^]*(?:systemctl|kubectl)/,
    );
  },
);

describe('kubernetes', () => {
  const deployments = ofKind('Deployment').map((object) => deployment.parse(object).spec);
  const policies = ofKind('NetworkPolicy').map((object) => policy.parse(object).spec);

  it('lists each file, and the version of package.json', () => {
    const files = readdirSync(FOLDER).filter((file) => file !== 'kustomization.yaml');
    expect([...kustomization.resources, 'settings.env'].toSorted()).toEqual(files.toSorted());
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(kustomization.images[0]?.newTag).toBe(version);
  });

  it.each(deployments.map((one) => [one.template.spec.containers[0].name, one] as const))(
    '%s starts, is probed, is locked down, and reaches only what it needs',
    (name, { selector, template }) => {
      const [program] = template.spec.containers;
      const [port] = program.ports;
      expect(program.args).toEqual([name]);
      expect(template.metadata.labels).toEqual(selector.matchLabels);
      const env = Object.fromEntries(program.env.map((one) => [one.name, one.value]));
      // Without it the limits of sign-ins count all visitors as one: their requests come from the ingress.
      expect('OPS_TRUSTED_PROXY' in env).toBe(name === 'ops');
      expect(env['HEALTH_ADDRESS'] ?? env['OPS_ADDRESS']).toBe(`0.0.0.0:${port.containerPort}`);

      const at = (path: string) => ({ httpGet: { path, port: port.name } });
      expect(program).toMatchObject({
        startupProbe: at('/livez'),
        livenessProbe: at('/livez'),
        readinessProbe: at('/readyz'),
        securityContext: {
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
        },
      });

      const [{ mountPath }] = program.volumeMounts;
      const { items } = template.spec.volumes[0].secret;
      const named = Object.entries(env).filter(([variable]) => variable.endsWith('_FILE'));
      expect(items.map(({ path }) => `${mountPath}/${path}`).toSorted()).toEqual(
        named.map(([, file]) => file).toSorted(),
      );
      checkConfiguration(
        { ...settings, ...env },
        (file) => items.find(({ path }) => `${mountPath}/${path}` === file)?.key,
      );

      const [own, ...others] = policies.filter(
        ({ podSelector }) =>
          podSelector.matchLabels['app.kubernetes.io/component'] ===
          selector.matchLabels['app.kubernetes.io/component'],
      );
      expect(others).toEqual([]);
      expect(own?.ingress[0].ports[0].port).toBe(port.name);
      const redis = Number(new URL(settings['REDIS_URL'] ?? '').port);
      const leads = own?.egress[0].ports.map((one) => one.port) ?? [];
      expect(new Set(leads)).toEqual(new Set([53, redis, ...(name === 'worker' ? [443] : [])]));
    },
  );

  it('a worker has longer to stop than it takes', () => {
    const { spec } = deployments[0]?.template ?? {};
    expect((spec?.terminationGracePeriodSeconds ?? 0) * 1_000).toBeGreaterThan(SHUTDOWN_MS);
  });

  it.runIf(kubectl)('Kustomize makes them', () => {
    const made = execFileSync(kubectl, ['kustomize', FOLDER], { encoding: 'utf8' });
    expect(made.match(/^kind: \w+/gm)).toHaveLength(objects.length + 1);
  });
});

describe.each(readdirSync(UNITS))('systemd, %s', (file) => {
  const lines = readFileSync(`${UNITS}/${file}`, 'utf8').split('\n');
  const valuesOf = (name: string) =>
    lines.filter((line) => line.startsWith(`${name}=`)).map((line) => line.slice(name.length + 1));

  it('starts a program with its secrets as credentials', () => {
    const [, program] = /^notices-(\w+)@\.service$/.exec(file) ?? [];
    expect(valuesOf('ExecStart')[0]?.split(' ').slice(1)).toEqual([
      '/opt/notice-queue/node_modules/notice-queue/dist/src/cli/main.js',
      program,
    ]);
    const env = environmentOf(valuesOf('Environment'));
    const credentials = new Map<string, string | undefined>(
      valuesOf('LoadCredential').map((value) => {
        const [, name, secret] = /^([\w-]+):\/etc\/notice-queue\/%i\/(.+)$/.exec(value) ?? [];
        return [`%d/${name}`, secret];
      }),
    );
    checkConfiguration(env, (path) => credentials.get(path));
    const files = Object.values(env).filter((value) => value.startsWith('%d/'));
    expect(files.toSorted()).toEqual([...credentials.keys()].toSorted());
  });

  it('is started again when it ended, has longer to stop than it takes, and no rights', () => {
    expect(valuesOf('Restart')).toEqual(['always']);
    const grace = Number(valuesOf('TimeoutStopSec')[0] ?? '90') * 1_000;
    expect(grace).toBeGreaterThan(SHUTDOWN_MS);
    expect(valuesOf('RestartPreventExitStatus')).toEqual(['2']);
    expect(valuesOf('DynamicUser')).toEqual(['yes']);
    expect(valuesOf('ProtectSystem')).toEqual(['strict']);
    expect(valuesOf('CapabilityBoundingSet')).toEqual(['']);
  });

  it.runIf(analyze)('systemd takes it', () => {
    const said = execFileSync(analyze, ['verify', `${UNITS}/${file}`], {
      encoding: 'utf8',
    });
    expect(said).toBe('');
  });
});
