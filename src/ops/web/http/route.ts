import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { Identity, Needs } from '../access/identity.ts';
import type { Html } from './html.ts';
import type { OpsContext } from '../ops-context.ts';

/** One request with validated input. */
export interface RouteCall<Params = unknown, Query = unknown, Body = unknown> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** The caller; undefined on an open route without credentials. */
  readonly who: Identity | undefined;
  /** Name of the caller for the audit stream; empty where the caller is unknown. */
  readonly name: string;
  /** CSRF token: for every form, and for the header `X-CSRF-Token` of every change by script. */
  readonly csrf: string;
  /** Path and query of the request. */
  readonly url: string;
  readonly header: (name: string) => string | undefined;
  /** Address of the caller, as the trusted proxy states it. */
  readonly address: string;
  /** Whether the browser uses https, as the trusted proxy or the browser states. */
  readonly secure: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** What the server shows, for the top of its pages. */
  readonly place: ServerLabel;
  /** What the form before this page has done. */
  readonly said?: string | undefined;
}

/** The account whose queue a server shows, and the name of its environment. */
export interface ServerLabel {
  readonly account: string;
  readonly name?: string | undefined;
}

/** The answer of a handler; the server writes it. */
export type RouteAnswer =
  | {
      readonly kind: 'json';
      readonly status: number;
      readonly body: unknown;
      /** What was done, for the page that follows a form. */
      readonly said?: string;
    }
  | {
      readonly kind: 'page';
      readonly status: number;
      readonly html: Html;
      readonly cookie?: SessionCookie;
    }
  | {
      readonly kind: 'redirect';
      readonly to: string;
      readonly cookie?: SessionCookie;
      readonly said?: string;
    }
  | {
      readonly kind: 'file';
      readonly type: string;
      readonly body: Buffer | Readable;
      /** File name; makes browsers save the file. */
      readonly name?: string;
      readonly cache?: 'for-ever' | 'ask-again';
    };

/** The session cookie to be set; without a value it is cleared. */
export interface SessionCookie {
  readonly value: string | undefined;
  /** When it expires: milliseconds since the epoch. */
  readonly until: number;
}

/** One answer of a route in the OpenAPI document. With a schema it is JSON. */
export interface AnswerDoc {
  readonly says: string;
  readonly schema?: z.ZodType;
  /** Media type where the answer is not JSON. */
  readonly type?: string;
}

/** The properties of a route that do not depend on its types. */
interface RouteHead {
  readonly method: 'GET' | 'POST';
  /** Path with `:name` for parameters. */
  readonly path: string;
  /** The role that it needs; a route without it is not registered. */
  readonly needs: Needs;
  /** `api` routes are in the OpenAPI document and answer errors as problems; pages answer HTML. */
  readonly kind: 'api' | 'page' | 'health' | 'asset';
  /** One line: what it does. */
  readonly summary: string;
  /**
   * A POST that changes nothing: its input must not be part of a URL. It is protected like a change,
   * but not logged as one.
   */
  readonly reads?: true;
  /** Answers by HTTP status. */
  readonly answers: Readonly<Record<number, AnswerDoc>>;
  /** Highest number of requests per caller (per address on open routes) and minute. Default 1,200. */
  readonly perMinute?: number | ((context: OpsContext) => number);
  /** Request headers that it reads, with their meaning. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The definition of a route. */
interface RouteSpec<
  P extends z.ZodType | undefined,
  Q extends z.ZodType | undefined,
  B extends z.ZodType | undefined,
> extends RouteHead {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  /** Schema of the body for the document, where the handler validates more than `body` does. */
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

/** Defines a route; its handler gets the input that its schemas have parsed. */
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
    // The server parses the input with these schemas before it calls the handler.
    handle: handle as Route['handle'],
  };
}

/** Answers JSON. */
export function json(body: unknown, status = 200, said?: string): RouteAnswer {
  return { kind: 'json', status, body, ...(said === undefined ? {} : { said }) };
}

/** Answers a page. */
export function page(html: Html, status = 200, cookie?: SessionCookie): RouteAnswer {
  return { kind: 'page', status, html, ...(cookie && { cookie }) };
}
