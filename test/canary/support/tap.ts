import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

interface EchoHow {
  /** Only the first of them. Default: false. */
  readonly once?: boolean;
  /** As an HTML page, in place of JSON. Default: false. */
  readonly page?: boolean;
}

interface Echo extends EchoHow {
  readonly containing: string;
  readonly status: number;
}

/** The messaging service as workers see it: in front of the emulator, it notes tokens and can echo requests. */
export async function startTap(target: string) {
  /** Bearer values that were used. */
  const tokens = new Set<string>();
  let echoes: readonly Echo[] = [];
  let echoed = 0;
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await buffer(request);
    const authorization = request.headers.authorization ?? '';
    if (authorization.startsWith('Bearer ')) tokens.add(authorization.slice('Bearer '.length));
    const found = echoes.find(
      ({ containing }) => body.includes(containing) || request.url?.endsWith(containing),
    );
    if (found === undefined) return forward(target, request, body, response);
    if (found.once === true) echoes = echoes.filter((one) => one !== found);
    echoed += 1;
    return answerWithAll(request, body.toString(), found, response);
  };
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  const port = await listen(0);
  onTestFinished(close);
  return {
    url: `http://127.0.0.1:${port}`,
    tokens,
    echoed: () => echoed,
    /** Answers requests that contain a text with everything that they contain, instead of passing them on. */
    echo: (containing: string, status: number, how: EchoHow = {}) => {
      echoes = [...echoes, { containing, status, ...how }];
    },
    /** Refuses connections meanwhile; those that stand are closed. */
    refuse: async (meanwhile: () => Promise<void>) => {
      close();
      await meanwhile();
      await listen(port);
    },
  };
}

async function forward(
  target: string,
  { method = 'POST', url = '/', headers }: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
): Promise<void> {
  const { authorization = '', 'content-type': type = 'application/json' } = headers;
  const answer = await fetch(`${target}${url}`, {
    method,
    headers: { authorization, 'content-type': type },
    body: method === 'GET' ? null : new Uint8Array(body),
  });
  const text = await answer.text();
  response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text);
}

/** Repeats the request in every place of an answer that is read or kept. */
function answerWithAll(
  { headers, url = '' }: IncomingMessage,
  body: string,
  { status, page = false }: Echo,
  response: ServerResponse,
): void {
  const number = /"contact":"(\d+)"/.exec(body)?.[1] ?? '01000000000';
  const [spelled, noBreak] = [' - ', '\u00a0'].map((between) =>
    number.replace(/^(\d{3})(\d{4})/, `$1${between}$2${between}`),
  ) as [string, string];
  const wide = number.replaceAll(/\d/g, (digit) => String.fromCharCode(Number(digit) + 0xff10));
  const secret = (headers.authorization ?? '').split(' ')[1] ?? '';
  const plain = Buffer.from(secret, 'base64')
    .toString('latin1')
    .replaceAll(/[^ -~]/g, '?');
  const all = `${url} ${JSON.stringify(headers)} ${secret} ${plain} ${spelled}, ${noBreak}, ${wide} ${body}`;
  const answer = {
    code: `BAD${number}`,
    errorCode: `INVALID_${spelled.replaceAll(' ', '')}`,
    message: all,
    error: { code: `C-${number}`, message: `${noBreak}: ${body}` },
    errors: [{ code: secret.slice(0, 40), message: plain }, all],
    traceId: `c${number}`,
    requestId: secret.slice(0, 60),
    data: { message: all },
  };
  const text = JSON.stringify(answer);
  const type = page ? 'text/html' : 'application/json';
  response
    .writeHead(status, {
      'content-type': type,
      'x-request-id': number,
      ...(status === 503 && { 'retry-after': '1' }),
      ...(status === 301 && { location: `/sent/${number}?by=${encodeURIComponent(secret)}` }),
    })
    .end(page ? `<!doctype html><title>${number}</title>${text}` : text);
}
