import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { findOnPath } from './find-on-path.ts';
import { startAs } from './from-local-program.ts';
import { localProgram } from './redis-server.ts';
import type { ProvidedRedis, StepContext } from './redis-step.ts';

const COMMAND_DEADLINE_MS = 300_000;
const SERVICE_PORT = 6379;
const PACKAGE = 'redis-server';

/**
 * The distribution's own package, where we may install it (Debian or a relative of it, as root). The
 * package would start a service that nobody here asked for: it is kept from doing so, and stopped
 * should it start all the same.
 */
export async function fromAptGet(context: StepContext): Promise<ProvidedRedis | string> {
  const aptGet = findOnPath('apt-get', context.env['PATH']);
  if (aptGet === undefined) return 'This machine has no apt-get.';
  if (process.getuid?.() !== 0) return `Only root may install ${PACKAGE}.`;

  context.say(`No Redis is at hand: installing Debian's ${PACKAGE} (apt-get).`);
  const othersListened = await listens(SERVICE_PORT);
  // invoke-rc.d starts no service outside the usual runlevels.
  const env = { ...context.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1', PREVLEVEL: 'N' };
  const updated = await run(aptGet, ['update', '-qq'], env);
  const install = ['install', '-y', '-qq', '--no-install-recommends', PACKAGE];
  if (!(updated && (await run(aptGet, install, env)))) return 'apt-get could not install it.';
  if (!othersListened && (await listens(SERVICE_PORT))) await stopService(context);

  const program = localProgram(context.env['PATH']);
  if (program === undefined) return `apt-get installed ${PACKAGE}, but it is not on PATH.`;
  return startAs('apt-get', program, context);
}

/** `service` also speaks to systemd where that runs. */
async function stopService({ env, say }: StepContext): Promise<void> {
  const service = findOnPath('service', `${env['PATH'] ?? ''}:/usr/sbin:/sbin`);
  const stopped = service !== undefined && (await run(service, [PACKAGE, 'stop'], env));
  if (!stopped) say(`The package started a Redis of its own on port ${SERVICE_PORT}; stop it.`);
}

/** True when the program ended with 0 in time. Its words would drown ours, so they are dropped. */
function run(program: string, args: readonly string[], env: StepContext['env']): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(program, [...args], { env, timeout: COMMAND_DEADLINE_MS }, (error) => {
      resolve(error === null);
    });
  });
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const answer = (yes: boolean) => {
      socket.destroy();
      resolve(yes);
    };
    socket.once('connect', () => answer(true));
    socket.once('error', () => answer(false));
  });
}
