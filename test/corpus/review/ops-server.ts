import type { Case } from '../case.ts';

const CALLERS = 'ops/web/hostile-callers.integration.test.ts';
const EVENTS = 'ops/web/events.integration.test.ts';
const ACCOUNTS = 'ops/web/accounts.test.ts';

/** Points 6 and 7: who gets in, and what one caller may take from others. */
export const OPS_SERVER_CASES: readonly Case[] = [
  ['6 sign-in limits by /64', CALLERS, 'all addresses of an IPv6 network as one'],
  ['6 sign-in limits by account and address', CALLERS, 'an account fails 20 times an hour'],
  ['6 two password checks at a time', CALLERS, 'two passwords are checked at a time'],
  ['6 a sign-out survives restarts', CALLERS, 'stays ended after a restart'],
  ['6 a sign-out counts at other servers', CALLERS, 'and at other servers'],
  ['6 the time of a request', CALLERS, 'with half a request is closed'],
  ['6 the time of the headers', CALLERS, 'headersAt'],
  ['6 the number of connections', CALLERS, 'above the most of all is closed at once'],
  ['6 Host names', CALLERS, 'that a page of another site chose'],
  ['6 next=/.//evil', CALLERS, "'/.//evil.example.test'"],
  ['6 streams of one caller', EVENTS, 'of one caller are twenty at most'],
  ['6 watches of one caller', EVENTS, 'of one caller watch five batches'],
  ['6 searches are audited', 'ops/web/find.integration.test.ts', 'it is in the audit stream'],
  ['6 exports are audited', 'ops/web/api.integration.test.ts', 'which stands in the audit stream'],
  ['6 failed sign-ins are logged with the address', CALLERS, 'is in the log with its address'],

  [
    '7 idempotency keys by API key',
    'ops/web/key-scope.integration.test.ts',
    'of two API keys do not meet',
  ],
  ['7 names of API keys', ACCOUNTS, "name: 'shop', role: 'sender'"],
  [
    '7 rights of API keys',
    'ops/web/every-route.integration.test.ts',
    "a sender's key opens nothing but",
  ],
  ['7 the end of API keys', ACCOUNTS, 'expire at the end of their last day'],
  ['7 rotation of API keys', ACCOUNTS, 'an old and a new key have the same name'],
];
