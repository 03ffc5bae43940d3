import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { decideOutcome } from '../../src/service/outcome-table.ts';
import { signal } from '../support/wait.ts';
import { NOTICE, openClient, tokensOf } from './support/client.ts';
import { OK, send, sendTo } from './support/send-to.ts';
import { tcpAnswers, tcpServer } from './support/servers.ts';

describe('a status that was seen decides', () => {
  const WHOLE = `${OK}content-length: 2\r\n\r\n{}`;
  const CUT = `${OK}content-length: 9\r\n\r\n{"a"`;
  const CHUNK = `${OK}transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n`;
  const EARLY = 'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n';
  const TWICE = `${OK}content-type: text/html\r\nretry-after: 3\r\nretry-after: 4\r\ndate: x\r\ndate: y\r\n`;
  it.each<[string, string, object, act?: (socket: Socket) => void]>([
    ['cut off in its length', CUT, { body: 'broken' }],
    [
      'reset in its length',
      CUT,
      { body: 'broken', failure: 'reset' },
      (one) => one.resetAndDestroy(),
    ],
    ['a bad chunk', CHUNK, { body: 'broken', failure: 'protocol' }],
    ['without a body', 'HTTP/1.1 204 No Content\r\n\r\n', { status: 204, body: 'none' }],
    ['after early hints', EARLY + WHOLE, { body: 'json' }],
    ['twice: one outcome', WHOLE + WHOLE, { body: 'json' }, () => undefined],
    [
      'headers that came twice',
      TWICE + WHOLE.slice(OK.length),
      { body: 'json', retryAfterMs: 3_000 },
    ],
  ])('200, %s', async (_name, text, more, act = (socket) => socket.end()) => {
    const answer = await sendTo((socket) => socket.write(text, () => act(socket)));
    expect(answer).toMatchObject({ stage: 'answered', status: 200, requests: 1, ...more });
    expect(decideOutcome(answer).kind).toBe('accepted');
  });

  it('silence in the body, until the answer timeout', async () => {
    const answer = await sendTo((socket) => socket.write(`${OK}content-length: 9\r\n\r\n{`), {
      answerTimeoutMs: 200,
    });
    const failureCode = 'UND_ERR_BODY_TIMEOUT';
    expect(answer).toMatchObject({ stage: 'answered', status: 200, body: 'broken', failureCode });
  });

  it('a body that drips is bounded by the total deadline, not by the pauses', async () => {
    const answer = await sendTo(
      (socket) => {
        socket.write(`${OK}content-length: 1000\r\n\r\n`);
        const drip = setInterval(() => socket.write('x'), 20);
        socket.on('close', () => clearInterval(drip));
      },
      { answerTimeoutMs: 2_000 },
      400,
    );
    expect(answer).toMatchObject({ status: 200, body: 'broken', failureCode: 'DEADLINE' });
    expect(answer.durationMs).toBeLessThan(8_000);
  });

  it('413 while the body is still going up', async () => {
    const server = await tcpServer((socket) => {
      socket.once('data', () =>
        socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n'),
      );
    });
    const big = { ...NOTICE, filler: 'x'.repeat(20_000_000) };
    const answer = await openClient(server.url).send(big, tokensOf(), { deadlineMs: 8_000 });
    expect(answer).toMatchObject({ stage: 'answered', status: 413 });
    expect(decideOutcome(answer)).toStrictEqual({ kind: 'rejected', code: 'HTTP_413' });
  });
});

describe('answers without bound', () => {
  it('are read up to 64 kB: memory stays flat and the connection goes', async () => {
    const closed = signal();
    const block = 'a'.repeat(1_000_000);
    let written = 0;
    const server = await tcpAnswers((socket) => {
      socket.write(`${OK}content-length: 100000000\r\n\r\n`);
      const more = (): void => {
        while (written < 100 && !socket.destroyed) {
          written += 1;
          if (!socket.write(block)) return;
        }
      };
      socket.on('drain', more).on('close', () => closed.resolve());
      more();
    });
    const before = process.memoryUsage().rss;
    const answer = await send(server.url);
    await closed.promise;
    expect(answer).toMatchObject({ stage: 'answered', status: 200, body: 'oversized' });
    expect(decideOutcome(answer)).toStrictEqual({ kind: 'accepted', confirmed: false });
    expect(written).toBeLessThan(30);
    expect(process.memoryUsage().rss - before).toBeLessThan(70_000_000);
  });

  it('take exactly 64 kB as whole', async () => {
    const text = JSON.stringify({ a: 'a'.repeat(65_536 - 8) });
    expect(text).toHaveLength(65_536);
    const answer = await sendTo((socket) =>
      socket.end(`${OK}content-length: 65536\r\n\r\n${text}`),
    );
    expect(answer).toMatchObject({ body: 'json' });
    const longer = await sendTo((socket) =>
      socket.end(`${OK}content-length: 65537\r\n\r\n${text} `),
    );
    expect(longer).toMatchObject({ body: 'oversized' });
  });
});
