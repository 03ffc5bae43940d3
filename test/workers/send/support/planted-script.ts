import type { ScriptClient } from '../../../../src/redis/script.ts';

/** A part of a script that is replaced by another, or a rule of the worker that is left out. */
export type Mistake =
  | readonly [part: string, instead: string]
  | 'settlements are not repeated'
  | 'locks are not watched';

const NO_SCRIPT = Object.assign(new Error('NOSCRIPT'), { name: 'ReplyError' });

/** The client, on which the scripts that contain the part run with the mistake. */
export function withMistake(client: ScriptClient, mistake: Mistake | undefined): ScriptClient {
  if (mistake === undefined || typeof mistake === 'string') return client;
  const [part, instead] = mistake;
  const change = (lua: string) => lua.replace(part, instead);
  const planted = {
    // Scripts are called by hash first, and by their text where Redis does not know them.
    evalsha: () => Promise.reject(NO_SCRIPT),
    eval: (lua: string, ...rest: [number, ...string[]]) => client.eval(change(lua), ...rest),
    callBuffer: (command: string, lua: string, ...rest: string[]) =>
      command === 'EVALSHA'
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
