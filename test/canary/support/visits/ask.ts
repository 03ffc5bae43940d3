import { OPS_ROUTES } from '../../../../src/ops/web/http/route-table.ts';
import { pathOf, routeOf } from '../../../ops/web/support/ops-bench.ts';
import { SECRETS } from '../canaries.ts';
import type { Canary } from '../forms.ts';
import type { World } from '../world.ts';

/** Someone who calls the ops server. */
export interface Visitor {
  readonly who: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Answered {
  readonly status: number;
  readonly text: string;
  readonly cookie: string;
  readonly location: string;
}

/** Requests of people and programs at an ops server; each answer is collected with its headers. */
export class Visits {
  readonly #world: World;
  readonly #url: string;
  /** Session cookies: as good as passwords. */
  readonly sessions: Canary[] = [];
  /** Routes that did what they are for, by method and path. */
  readonly answered = new Set<string>();

  constructor(world: World, url: string) {
    this.#world = world;
    this.#url = url;
  }

  /** Asks; a place of its own is for answers that are meant to contain a canary. */
  async ask(
    path: string,
    { headers }: Pick<Visitor, 'headers'>,
    body?: unknown,
    place = 'HTTP answer',
  ): Promise<Answered> {
    const isForm = typeof body === 'string';
    const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json';
    const method = body === undefined ? 'GET' : 'POST';
    const answer = await fetch(`${this.#url}${path}`, {
      method,
      redirect: 'manual',
      headers: { ...(body === undefined ? {} : { 'content-type': type }), ...headers },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    const { status, headers: got } = answer;
    if (status < 400) this.answered.add(`${method} ${routeOf(method, path)?.path ?? path}`);
    // What is asked is not of the program: the query may have what only the asker may know.
    this.#world.write(place, `${path.split('?')[0]} ${JSON.stringify([...got])}\n${text}`);
    const cookie = got.getSetCookie()[0]?.split(';')[0] ?? '';
    return { status, text, cookie, location: got.get('location') ?? '' };
  }

  /** Signs in with a password, in the browser's way. */
  async signIn(name: string, password: string): Promise<Visitor> {
    const form = new URLSearchParams({ name, password }).toString();
    const { status, cookie } = await this.ask('/sign-in', NOBODY, form, 'answer to a sign-in');
    if (status !== 303) throw new Error(`the sign-in of ${name} was answered with ${status}`);
    return this.enter(name, cookie);
  }

  /** A person with a session that has begun. */
  async enter(name: string, cookie: string): Promise<Visitor> {
    this.sessions.push({ name: `session of ${name}`, value: cookie.split('=')[1] ?? '' });
    const session = await this.ask('/api/v1/session', { headers: { cookie } });
    const { csrf } = JSON.parse(session.text) as { csrf: string };
    return { who: name, headers: { cookie, 'x-csrf-token': csrf } };
  }

  /**
   * Every GET route and the board.
   *
   * @param ids of batches and notices, each of which is asked for
   * @returns paths that were not answered with 200
   */
  async readAll(
    { who, headers }: Visitor,
    ids: { readonly batches: readonly string[]; readonly notices: readonly string[] },
  ): Promise<string[]> {
    const unanswered: string[] = [];
    const read = async (path: string) => {
      const accept = path.startsWith('/api') ? 'application/json' : 'text/html';
      const place = path.includes('.csv') && who === 'otto' ? 'download of an operator' : undefined;
      const visitor = { headers: { ...headers, accept } };
      return (await this.ask(path, visitor, undefined, place)).status === 200;
    };
    for (const { method, path } of OPS_ROUTES) {
      if (method !== 'GET') continue;
      const all = path.includes('batches') ? ids.batches : ids.notices;
      const paths = path.includes(':id')
        ? all.map((id) => path.replace(':id', encodeURIComponent(id)))
        : [path === '/api/v1/notices' ? `${path}?idempotencyKey=order-1` : pathOf({ path })];
      let isAnswered = false;
      for (const one of paths) isAnswered = (await read(one)) || isAnswered;
      if (!isAnswered) unanswered.push(path);
    }
    const exports = '/api/v1/failures.csv?';
    const ofLists = ids.batches.map((id) => `${exports}batch=${encodeURIComponent(id)}&`);
    for (const one of [exports, ...ofLists]) {
      for (const path of [one, `${one}state=unknown`]) await read(path);
    }
    for (const path of BOARD_LISTS) if (!(await read(path))) unanswered.push(path);
    // The job of a notice that was not accepted is gone.
    let isShown = false;
    for (const path of ids.notices.flatMap(boardPaths)) isShown = (await read(path)) || isShown;
    if (!isShown) unanswered.push('/queues/api/queues/send/:id');
    return unanswered;
  }
}

export const NOBODY: Visitor = { who: '', headers: {} };

/** The program with an API key. */
export const program = (key: 'viewerKey' | 'operatorKey' | 'senderKey'): Visitor => ({
  who: key,
  headers: { authorization: `Bearer ${SECRETS[key]}` },
});

const STATES = ['latest', 'active', 'waiting', 'completed', 'failed', 'delayed', 'prioritized'];

const BOARD_LISTS = [
  ...['send', 'chunks'].flatMap((queue) =>
    STATES.map((state) => `/queues/api/queues?activeQueue=${queue}&status=${state}`),
  ),
  '/queues/',
];

function boardPaths(notice: string): string[] {
  const path = `/queues/api/queues/send/${encodeURIComponent(notice)}`;
  return [path, `${path}/logs`];
}
