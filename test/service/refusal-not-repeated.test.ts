import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { answerRulesSchema } from '../../src/contracts/answer-rules.ts';
import type { TokenSource } from '../../src/contracts/token.ts';
import { decideOutcome } from '../../src/service/outcome-table.ts';
import { FIRST, NOTICE, openClient, tokensOf } from './support/client.ts';
import { httpServer, json } from './support/servers.ts';

const answerRules = answerRulesSchema.parse({
  rules: [{ status: '4xx', outcome: 'rejected' }],
});

/** A token that is kept: it may be accepted for others. */
const kept: TokenSource = {
  get: () => Promise.resolve(FIRST),
  renew: () => Promise.resolve(undefined),
};

/** The body of this refusal does not end. */
function endless(response: ServerResponse): void {
  response.writeHead(401, { 'content-length': '100' }).write('{');
}

const COUNTED = { kind: 'hold', scope: 'template', rejectAfter: 4 };

describe('a 401 that is not repeated with another token', () => {
  it('is decided by no rule of the operator: only the evidence rejects', async () => {
    const server = await httpServer((response) => json(response, 401, { code: 'SENDER_UNKNOWN' }));
    const client = openClient(server.url, { answerRules });
    const once = await client.send(NOTICE, kept, { deadlineMs: 8_000 });
    expect(decideOutcome(once)).toMatchObject({
      kind: 'hold',
      hold: 'credentials',
      scope: 'template',
      rejectAfter: 1,
    });
    const repeated = await client.send(NOTICE, tokensOf(), { deadlineMs: 8_000 });
    expect(repeated.requests).toBe(2);
    expect(decideOutcome(repeated)).toMatchObject({ kind: 'rejected', code: 'SENDER_UNKNOWN' });
  });

  it.each([
    ['is kept', kept, 1],
    ['is renewed', tokensOf(), 2],
  ])('and whose body does not end is counted, where the token %s', async (_, tokens, requests) => {
    const server = await httpServer(endless);
    const client = openClient(server.url, { answerTimeoutMs: 300 });
    const answer = await client.send(NOTICE, tokens, { deadlineMs: 8_000 });
    expect(answer.requests).toBe(requests);
    expect(decideOutcome(answer)).toMatchObject(COUNTED);
  });

  it('and whose body takes the time of the call is counted, and renews no token', async () => {
    const server = await httpServer(endless);
    const tokens = tokensOf();
    const answer = await openClient(server.url).send(NOTICE, tokens, { deadlineMs: 300 });
    expect(tokens.renewals).toEqual([]);
    expect(decideOutcome(answer)).toMatchObject(COUNTED);
  });
});
