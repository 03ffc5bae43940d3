import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { Identity, Needs } from '../access/identity.ts';
import type { Html } from './html.ts';
import type { FeedFilter } from '../live/feed.ts';
import type { OpsContext } from '../ops-context.ts';

/** One request, checked. */
export interface RouteCall<Params = unknown, Query = unknown, Body = unknown> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** Undefined on a route that is open and a caller who shows nothing. */
  readonly who: Identity | undefined;
  /** Name for the audit stream; empty on an open route. */
  readonly name: string;
  /** To be put into every form, and into the header `X-CSRF-Token` of every change by script. */
  readonly csrf: string;
  /** Path and query as they were asked for. */
  readonly url: string;
  readonly header: (name: string) => string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** What a handler answers; the server writes it. */
export type RouteAnswer =
  | { readonly kind: 'json'; readonly status: number; readonly body: unknown }
  | { readonly kind: 'page'; readonly status: number; readonly html: Html }
  | { readonly kind: 'redirect'; readonly to: string; readonly cookie?: SessionCookie }
  | {
      readonly kind: 'file';
      readonly type: string;
      readonly body: Buffer | Readable;
      /** A name makes browsers save it. */
      readonly name?: string;
      readonly cache?: 'for-ever' | 'ask-again';
    }
  | { readonly kind: 'events'; readonly question: FeedFilter };

/** A cookie to be set; without a value it is taken away. */
export interface SessionCookie {
  readonly value: string | undefined;
  readonly until: number;
}

/** What a status means, for the OpenAPI document. A schema stands for JSON. */
export interface AnswerDoc {
  readonly says: string;
  readonly schema?: z.ZodType;
  /** Media type where it is no JSON. */
  readonly type?: string;
}

/** What of a route does not depend on its types. */
interface RouteHead {
  readonly method: 'GET' | 'POST';
  /** As fastify and OpenAPI know it, with `:name` for a parameter. */
  readonly path: string;
  /** Whom it lets in: no route without it. */
  readonly needs: Needs;
  /** `api` routes stand in the OpenAPI document and answer problems; pages answer HTML. */
  readonly kind: 'api' | 'page' | 'health' | 'asset';
  /** One line: what it does. */
  readonly summary: string;
  /**
   * A POST that changes nothing: it is one because what it asks must not stand in an address. It is
   * guarded as a change is, and not logged as one.
   */
  readonly reads?: true;
  /** By status. */
  readonly answers: Readonly<Record<number, AnswerDoc>>;
  /** Most requests of one caller (or of one address, where it is open) in a minute. */
  readonly perMinute?: number | ((context: OpsContext) => number);
  /** Path of the route that replaces this one, which is deprecated; its first use is logged. */
  readonly replacedBy?: string;
  /** Other headers that it reads, with their meaning. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A route as it is written down. */
interface RouteSpec<
  P extends z.ZodType | undefined,
  Q extends z.ZodType | undefined,
  B extends z.ZodType | undefined,
> extends RouteHead {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  /** What the body is to its reader, where the handler checks it more closely than `body` does. */
  readonly bodyDoc?: z.ZodType;
  readonly handle: (
    call: RouteCall<Out<P>, Out<Q>, Out<B>>,
    context: OpsContext,
  ) => RouteAnswer | Promise<RouteAnswer>;
}

type Out<S> = S extends z.ZodType ? z.output<S> : undefined;

/** A route of the table. */
export interface Route extends RouteHead {
  readonly params: z.ZodType | undefined;
  readonly query: z.ZodType | undefined;
  readonly body: z.ZodType | undefined;
  readonly bodyDoc: z.ZodType | undefined;
  readonly handle: (call: RouteCall, context: OpsContext) => RouteAnswer | Promise<RouteAnswer>;
}

/** Writes down a route: its handler gets what its schemas let through. */
export function route<
  P extends z.ZodType | undefined = undefined,
  Q extends z.ZodType | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
>(spec: RouteSpec<P, Q, B>): Route {
  const { params, query, body, bodyDoc, handle, ...head } = spec;
  return {
    ...head,
    params,
    query,
    body,
    bodyDoc,
    // The server parses with these very schemas before it calls.
    handle: handle as Route['handle'],
  };
}

/** Answers JSON. */
export function json(body: unknown, status = 200): RouteAnswer {
  return { kind: 'json', status, body };
}

/** Answers a page. */
export function page(html: Html, status = 200): RouteAnswer {
  return { kind: 'page', status, html };
}
