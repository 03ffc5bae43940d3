import type { Socket } from 'node:net';
import type { SendAnswer } from '../../../src/service/send-call.ts';
import type { ServiceConfig } from '../../../src/config/config.ts';
import { NOTICE, openClient, tokensOf } from './client.ts';
import { tcpAnswers } from './servers.ts';

/** The head of an answer without its length. */
export const OK = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';

export function send(
  url: string,
  overrides: Partial<ServiceConfig> = {},
  deadlineMs = 8_000,
): Promise<SendAnswer> {
  return openClient(url, overrides).send(NOTICE, tokensOf(), { deadlineMs });
}

/** Sends to a server that does `act` with the connection once it has read the whole request. */
export async function sendTo(
  act: (socket: Socket) => void,
  overrides?: Partial<ServiceConfig>,
  deadlineMs?: number,
): Promise<SendAnswer> {
  const server = await tcpAnswers(act);
  return send(server.url, overrides, deadlineMs);
}
