import type { FastifyInstance } from 'fastify';
import type { Config } from '../../src/config/config.ts';
import { InputError } from '../../src/contracts/errors.ts';
import { isLoopbackHost } from '../../src/format/plain-hosts.ts';
import { createLogger, writeLastLines } from '../../src/logging/logger.ts';
import type { FirstSignIn } from '../../src/ops/web/access/access.ts';
import { openOps } from '../../src/ops/web/ops-context.ts';
import { buildOpsServer } from '../../src/ops/web/server.ts';
import { VERSION } from '../../src/contracts/version.ts';
import { stopOnSignals } from './stop-signals.ts';
import { watchEvents } from './watch-events.ts';

/** File descriptor of the log; standard output has the address. */
const STDERR = 2;

/** Longer than a command to Redis may take. */
const STOP_TIMEOUT_MS = 10_000;

/** Where the server listens, and how to sign in if no users are configured. */
export interface OpsAddress {
  readonly url: string;
  readonly firstSignIn: FirstSignIn | undefined;
}

/**
 * Runs one ops server until it is stopped. Redis may be unavailable, at the start and later.
 *
 * @param config the key pair of the service is not needed
 * @param onListening called when it listens; the password is for a terminal and never for a log
 * @returns the exit code
 * @throws InputError CONFIG_INVALID
 */
export async function runOpsProcess(
  config: Config,
  onListening: (address: OpsAddress) => void,
): Promise<number> {
  const logger = createLogger(config, STDERR);
  const { host, port } = config.ops;
  const { context, firstSignIn, close } = await openOps(config, logger);
  let app: FastifyInstance | undefined;
  let url: string;
  try {
    app = await buildOpsServer(context);
    url = await app.listen({ host, port });
  } catch (error) {
    await app?.close();
    await close();
    throw cannotListen(error);
  }
  const server = app;
  // It also sees when no worker is left.
  const watch = watchEvents(context.redis, context.keys, config, logger, false);
  await watch.start();
  // Before the address is announced: a program that reads it may stop the server at once.
  const stopped = stopOnSignals(
    async () => {
      await server.close();
      await watch.stop();
      await close();
      logger.info({ event: 'stopped' });
    },
    STOP_TIMEOUT_MS,
    logger,
  );
  logger.info({ event: 'ops-listening', url, version: VERSION });
  if (!isLoopbackHost(host) && config.ops.trustedProxy.length === 0) {
    logger.warn(
      { event: 'ops-without-tls' },
      'passwords and keys are not encrypted: put a proxy with TLS in front of this port, and set OPS_TRUSTED_PROXY',
    );
  }
  onListening({ url, firstSignIn });
  const code = await stopped;
  await writeLastLines(logger);
  return code;
}

/** Line for the terminal on which a server without users was started. */
export function describeFirstSignIn(url: string, { user, password }: FirstSignIn): string {
  return `No users are configured (OPS_USERS). Sign in at ${url} as "${user}" with the password ${password}`;
}

function cannotListen(error: unknown): unknown {
  const { code } = (error ?? {}) as { code?: unknown };
  const problems: Readonly<Record<string, string>> = {
    EADDRINUSE: 'another program listens there already',
    EADDRNOTAVAIL: 'OPS_ADDRESS is not an address of this machine',
    EACCES: 'this user may not listen there',
    ENOTFOUND: 'the name in OPS_ADDRESS is not known',
  };
  const problem = typeof code === 'string' ? problems[code] : undefined;
  return problem === undefined
    ? error
    : new InputError('CONFIG_INVALID', [{ field: 'OPS_ADDRESS', problem }]);
}
