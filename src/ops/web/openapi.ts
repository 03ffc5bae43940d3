import { z } from 'zod';
import { VERSION } from '../../contracts/version.ts';
import { problemAnswer } from './http/problem.ts';
import { type AnswerDoc, type Route, route } from './http/route.ts';

type Json = Readonly<Record<string, unknown>>;
type Io = 'input' | 'output';
type Made = Json & { readonly id?: string };

/** Problems that every route can answer, by status. */
const ALWAYS: Readonly<Record<number, string>> = {
  400: 'The request is invalid.',
  429: 'Too many requests; Retry-After says how long to wait.',
  503: 'Redis is not available; Retry-After says when to retry.',
};
const WITH_ROLE: Readonly<Record<number, string>> = {
  401: 'The request is not authenticated.',
  403: 'The role is not sufficient, or the request comes from another site.',
};

/**
 * Makes the OpenAPI 3.1 document from the routes and from the schemas that validate requests and
 * describe answers, so that it always matches them.
 */
export function openApi(routes: readonly Route[]): Json {
  const schemas: Record<string, Json> = {};
  const paths: Record<string, Record<string, Json>> = {};
  for (const one of routes) {
    if (one.kind !== 'api' && one.kind !== 'health') continue;
    const path = one.path.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [one.method.toLowerCase()]: operation(one, schemas) };
  }
  const responses = Object.entries({ ...ALWAYS, ...WITH_ROLE }).map(([status, says]) => [
    status,
    answerOf(Number(status), { says }, schemas),
  ]);
  return {
    openapi: '3.1.1',
    info: {
      title: 'notice-queue',
      version: VERSION,
      summary: 'Monitoring and control of notice-queue, and enqueuing of notices.',
      description:
        'Programs send their API key as a bearer token. Browsers have a session; requests that change something carry the token of `GET /api/v1/session` as `X-CSRF-Token`. Errors are problems (RFC 9457) with one of the codes that the documentation lists. Ignore unknown fields.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
      responses: Object.fromEntries(responses) as Json,
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: '`notices ops new-key` creates one.',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'notices',
          description: 'Set by the sign-in page; over https its name is `__Host-notices`.',
        },
      },
    },
  };
}

function operation(one: Route, schemas: Record<string, Json>): Json {
  const { method, path, needs, kind, summary, answers = {}, input, bodyDoc, headers = {} } = one;
  const { streams } = one;
  const isOpen = needs === 'open';
  const shape = input instanceof z.ZodObject ? (input.shape as Record<string, z.ZodType>) : {};
  const isInPath = (name: string) => path.includes(`:${name}`);
  const fields = Object.entries(shape);
  const inUrl = fields.filter(
    ([name]) => method === 'GET' || streams !== undefined || isInPath(name),
  );
  const parameters = [
    ...inUrl.map(([name, field]) => parameterOf(name, field, isInPath(name), schemas)),
    ...Object.entries(headers).map(([name, description]) => ({
      name,
      in: 'header',
      required: false,
      description,
      schema: { type: 'string' },
    })),
  ];
  const inBody = fields.filter(([name]) => !isInPath(name));
  const body = bodyDoc ?? z.strictObject(Object.fromEntries(inBody));
  const own = Object.entries(answers).map(([status, doc]) => [
    status,
    answerOf(Number(status), doc, schemas),
  ]);
  const problems = Object.keys({ ...(kind === 'api' ? ALWAYS : {}), ...(isOpen ? {} : WITH_ROLE) })
    .filter((status) => !(Number(status) in answers))
    .map((status) => [status, { $ref: `#/components/responses/${status}` }]);
  const both = [{ session: [] }, { apiKey: [] }];
  return {
    operationId: operationId(one),
    summary,
    'x-role': needs,
    security: isOpen ? [] : needs === 'sender' ? both.slice(1) : both,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(method === 'POST' && {
      requestBody: {
        required: streams !== undefined || !body.safeParse({}).success,
        content:
          streams === undefined
            ? { 'application/json': { schema: toJson(body, 'input', schemas) } }
            : Object.fromEntries(streams.map((type) => [type, { schema: { type: 'string' } }])),
      },
    }),
    responses: Object.fromEntries([...own, ...problems]),
  };
}

function answerOf(
  status: number,
  { says, schema, type }: AnswerDoc,
  schemas: Record<string, Json>,
): Json {
  const isProblem = status >= 400 && schema === undefined;
  const media = isProblem ? 'application/problem+json' : (type ?? 'application/json');
  const found = isProblem ? problemAnswer : schema;
  const shown = found === undefined ? { type: 'string' } : toJson(found, 'output', schemas);
  return { description: says, content: { [media]: { schema: shown } } };
}

function parameterOf(
  name: string,
  field: z.ZodType,
  isInPath: boolean,
  schemas: Record<string, Json>,
): Json {
  const { success: isOptional, data } = field.safeParse(undefined);
  return {
    name,
    in: isInPath ? 'path' : 'query',
    required: isInPath || !isOptional,
    schema: {
      ...toJson(field, 'input', schemas),
      ...(data === undefined ? {} : { default: data }),
    },
  };
}

/** `GET /api/v1/batches/:id/failures.csv` becomes `getBatchesIdFailuresCsv`. */
function operationId({ method, path }: Route): string {
  const words = path.replace(/^\/api\/v1/, '').split(/[^A-Za-z0-9]+/);
  const capitals = words.map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`);
  return `${method.toLowerCase()}${capitals.join('')}`;
}

/** Removes what zod adds without use: bounds of safe integers, and closed answer objects. */
function simplify(schema: z.core.JSONSchema.BaseSchema, io: Io): void {
  // These are for the command line.
  delete schema['takes'];
  delete schema['flag'];
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (io === 'output' && typeof schema.additionalProperties !== 'object') {
    delete schema.additionalProperties;
  }
}

/** Converts a schema to JSON Schema; named schemas in it are moved to the components. */
function toJson(schema: z.ZodType, io: Io, schemas: Record<string, Json>): Json {
  const json = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => simplify(jsonSchema, io),
  });
  const text = JSON.stringify(json).replaceAll('"#/$defs/', '"#/components/schemas/');
  const made = JSON.parse(text) as Made & { readonly $defs?: Readonly<Record<string, Made>> };
  const { $schema: _, $defs = {}, id: own, ...found } = made;
  for (const [name, { id: _id, ...rest }] of Object.entries($defs)) schemas[name] = rest;
  if (own === undefined) return found;
  schemas[own] = found;
  return { $ref: `#/components/schemas/${own}` };
}

/** @param routes that the document describes */
export function openApiRoute(routes: readonly Route[]): Route {
  // The same for every request: made of all schemas once, and written as text once.
  let made: string | undefined;
  const self: Route = route({
    method: 'GET',
    path: '/api/v1/openapi.json',
    needs: 'viewer',
    kind: 'api',
    summary: 'This document.',
    answers: { 200: { says: 'OpenAPI 3.1.' } },
    handle: ({ reply }) => {
      made ??= JSON.stringify(openApi([...routes, self]));
      void reply.type('application/json; charset=utf-8');
      return made;
    },
  });
  return self;
}
