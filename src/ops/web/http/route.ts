import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Identity, Needs } from '../access/identity.ts';
import type { OpsContext } from '../ops-context.ts';

/** One request with validated input. */
export interface RouteCall<Input = unknown> {
  /** Parameters of the path, with the fields of the query or of the body. */
  readonly input: Input;
  /** The caller; undefined on an open route without credentials. */
  readonly who: Identity | undefined;
  /** Name of the caller for the audit stream; empty where the caller is unknown. */
  readonly name: string;
  /** CSRF token: for every form, and for the header `X-CSRF-Token` of every change by script. */
  readonly csrf: string;
  /** Path and query of the request. */
  readonly url: string;
  readonly now: number;
  /** What the form before this page has done. */
  readonly said?: string | undefined;
  /** Where a form that changes something leads to. */
  readonly next?: string | undefined;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** One answer of a route in the OpenAPI document. With a schema it is JSON. */
export interface AnswerDoc {
  readonly says: string;
  readonly schema?: z.ZodType;
  /** Media type where the answer is not JSON. */
  readonly type?: string;
}

/** The definition of a route, whose handler gets the input that its schema has parsed. */
export interface RouteSpec<Input extends z.ZodType | undefined> {
  readonly method: 'GET' | 'POST';
  /** Path with `:name` for parameters. */
  readonly path: string;
  /** The role that it needs; a route without it is not registered. */
  readonly needs: Needs;
  /** `api` routes are in the OpenAPI document and answer errors as problems; pages answer HTML. */
  readonly kind: 'api' | 'page' | 'health' | 'asset';
  readonly summary: string;
  /** A POST that changes nothing: its input must not be part of a URL. It is protected like a change, but not logged as one. */
  readonly reads?: true;
  /** Answers of the API by HTTP status. */
  readonly answers?: Readonly<Record<number, AnswerDoc>>;
  /** Highest number of requests per caller (per address on open routes) and minute; `notices`: `noticesPerMinute`. */
  readonly perMinute?: number | 'notices' | undefined;
  /** Request headers that it reads, with their meaning. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly input?: Input;
  /** Media types of a body of any size, which the handler reads while it arrives; the input is then the query. */
  readonly streams?: readonly string[];
  /** Schema of the body for the document, where the handler validates more than `input` does. */
  readonly bodyDoc?: z.ZodType;
  /** Answers a page, a stream, bytes, an object that becomes JSON; nothing where it has redirected. */
  readonly handle: (call: RouteCall<InputOf<Input>>, context: OpsContext) => unknown;
}

/** What the schema of a route makes of its input. */
export type InputOf<Input> = Input extends z.ZodType ? z.output<Input> : undefined;

export type Route = RouteSpec<z.ZodType>;

export function route<Input extends z.ZodType | undefined = undefined>(
  spec: RouteSpec<Input>,
): Route {
  // The server parses the input with the schema before it calls the handler.
  return spec as unknown as Route;
}

/** Leads a browser to a path of this server. */
export function redirect(reply: FastifyReply, to: string): void {
  void reply.redirect(localPath(to), 303);
}

/** @returns the path and query of a URL of this server; `/` for all others, such as another site */
export function localPath(text: string): string {
  const base = 'http://here.invalid';
  if (!/^\/(?![/\\])/.test(text) || !URL.canParse(text, base)) return '/';
  const url = new URL(text, base);
  // Without its dots, a path can start with two slashes and so name another site.
  return url.origin === base && !url.pathname.startsWith('//')
    ? `${url.pathname}${url.search}`
    : '/';
}
