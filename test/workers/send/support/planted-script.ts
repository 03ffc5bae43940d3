import type { Redis } from 'ioredis';

/** A part of a script that is replaced by another, or a rule of the worker that is left out. */
export type Mistake = readonly [part: string, instead: string] | 'settlements are not repeated';

/** What the settlement model must notice, the law that shows it, and the mistake. */
export const MISTAKES: readonly (readonly [title: string, law: string, mistake: Mistake])[] = [
  [
    'a settlement whose answer was lost is not repeated',
    'without a job',
    'settlements are not repeated',
  ],
  [
    'a claim that is repeated counts as another one',
    'counts as unknown',
    ["redis.call('HGET', inflight, chunk) == nonce", 'false'],
  ],
  [
    'what a worker had claimed before it ended is sent again at-most-once',
    'is sent again under at-most-once',
    ["if underWay and delivery == 'at-most-once' then", 'if false then'],
  ],
  [
    'what is sent again is not counted as possibly sent twice',
    'sent twice',
    ['if possiblySent then countTwice(size) end', ''],
  ],
  [
    'any attempt settles a chunk, whoever claimed it',
    'without a job',
    ["if redis.call('HGET', inflight, chunk) ~= nonce and not", 'if false and not'],
  ],
  [
    'an attempt that lost its claim settles what it did not see accepted',
    'without a job',
    ['and not (possiblySent and isAccepted)', 'and not possiblySent'],
  ],
  [
    'a rejection after a possibly sent attempt counts',
    'counts as rejected',
    ["possiblySent and 'unknown' or said.state", 'said.state'],
  ],
  [
    'what was possibly sent before is forgotten when it is tried again',
    'sent twice',
    ['possiblySent or unanswered', 'unanswered'],
  ],
  [
    'what waits again is not counted',
    'pending',
    [
      'addPending(size, possiblySent)\nend',
      "if possiblySent then add('possiblySentPending', size) end\nend",
    ],
  ],
];

const NO_SCRIPT = Object.assign(new Error('NOSCRIPT'), { name: 'ReplyError' });

/** The client, on which the scripts that contain the part run with the mistake. */
export function withMistake(client: Redis, mistake: Mistake | undefined): Redis {
  if (mistake === undefined || typeof mistake === 'string') return client;
  const [part, instead] = mistake;
  const change = (lua: string) => lua.replace(part, instead);
  const planted = {
    // Scripts are called by hash first, and by their text where Redis does not know them.
    evalsha: () => Promise.reject(NO_SCRIPT),
    eval: (lua: string, ...rest: [number, ...string[]]) => client.eval(change(lua), ...rest),
    callBuffer: (command: string, lua: string, ...rest: string[]) =>
      command === 'evalsha'
        ? Promise.reject(NO_SCRIPT)
        : client.callBuffer(command, change(lua), ...rest),
  };
  return new Proxy(client, {
    get(target, name) {
      if (name in planted) return planted[name as keyof typeof planted];
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
