import { describe, expect, it } from 'vitest';
import { EXAMPLE_RULES } from '../../scripts/answers-page.ts';
import { answerRulesSchema } from '../../src/contracts/answer-rules.ts';
import { decideOutcome } from '../../src/service/outcome-table.ts';
import { openClient, tokensOf } from './support/client.ts';
import { tcpAnswers } from './support/servers.ts';
import type { SendAnswer } from '../../src/service/send-call.ts';

const RULES = answerRulesSchema.parse(EXAMPLE_RULES);
const numberAt = (index: number): string => `010${10_000_000 + index}`;

/** Sends so many contacts to a service that answers 200 with this body. */
async function answering(
  contacts: number,
  body: string,
  { length = Buffer.byteLength(body), rules = true } = {},
): Promise<SendAnswer> {
  const { url } = await tcpAnswers((socket) => {
    socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n${body}`);
  });
  const client = openClient(url, rules ? { answerRules: RULES } : {});
  const sent = Array.from({ length: contacts }, (_, index) => ({ contact: numberAt(index) }));
  const bytes = Buffer.from(JSON.stringify(sent));
  return client.sendBytes({ templateCode: 'T' }, bytes, tokensOf(), { deadlineMs: 10_000 });
}

/** A result for each contact, all accepted but the last; each has this many bytes more. */
const resultsOf = (contacts: number, filler: number): string =>
  JSON.stringify({
    data: {
      results: Array.from({ length: contacts }, (_, index) => ({
        contact: numberAt(index),
        id: 'x'.repeat(filler),
        ...(index === contacts - 1 ? { status: 'FAIL', code: 'BLOCKED' } : { status: 'OK' }),
      })),
    },
  });

describe('an answer with a result for each contact', () => {
  it('is read whole for each contact of a large request', async () => {
    const body = resultsOf(1_000, 100);
    expect(body.length).toBeGreaterThan(2 * 65_536);
    const { results = [] } = await answering(1_000, body);
    expect(results).toHaveLength(1_000);
    expect(results.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(999);
    expect(results.at(-1)).toMatchObject({ outcome: 'rejected', code: 'BLOCKED' });
  });

  it('is read up to 64 kB and 1 kB for each contact', async () => {
    const body = resultsOf(2, 100);
    const most = body.padEnd(65_536 + 2 * 1_024);
    expect(await answering(2, most)).toMatchObject({ body: 'json', results: [{}, {}] });
    expect(await answering(2, `${most} `)).toMatchObject({ body: 'oversized' });
  });

  it.each<[string, string, { length?: number }]>([
    ['too long', resultsOf(2, 40_000), {}],
    ['cut off', resultsOf(2, 10).slice(0, -20), { length: 1_000 }],
    ['cut off, and called whole', resultsOf(2, 10).slice(0, -20), {}],
    ['no JSON', 'OK', {}],
  ])('%s: no contact is taken for accepted', async (_name, body, how) => {
    const answer = await answering(2, body, how);
    expect(answer).toMatchObject({ status: 200 });
    expect(decideOutcome(answer)).toEqual({ kind: 'unknown', code: 'RESULTS_UNREADABLE' });
    // Without results per contact, the status alone decides, as ever.
    const plain = await answering(2, body, { ...how, rules: false });
    expect(decideOutcome(plain)).toEqual({ kind: 'accepted', confirmed: false });
  });

  it('an empty answer, one without a list and a page are what the built-in table says', async () => {
    expect(decideOutcome(await answering(2, ''))).toEqual({ kind: 'accepted', confirmed: true });
    expect(decideOutcome(await answering(2, '{"data":{}}'))).toMatchObject({ kind: 'accepted' });
    expect(decideOutcome(await answering(2, '<html>hi</html>'))).toMatchObject({ kind: 'hold' });
  });
});
