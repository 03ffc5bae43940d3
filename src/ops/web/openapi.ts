import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import { VERSION } from '../../contracts/version.ts';
import { problemAnswer } from './answers.ts';
import { type AnswerDoc, type Route, route } from './http/route.ts';

type Json = Readonly<Record<string, unknown>>;

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

const PROBLEM = 'application/problem+json';

/**
 * Makes the OpenAPI 3.1 document from the routes and from the schemas that validate requests and
 * describe answers, so that it always matches them.
 */
export function openApi(routes: readonly Route[]): Json {
  const components = new Map<string, Json>();
  const toJson = (schema: z.ZodType, io: 'input' | 'output') => reference(schema, io, components);
  const problems = Object.entries({ ...ALWAYS, ...WITH_ROLE }).map(([status, says]) => [
    status,
    answerOf(Number(status), { says }, toJson),
  ]);
  const paths = new Map<string, Record<string, Json>>();
  for (const route of routes) {
    if (route.kind !== 'api' && route.kind !== 'health') continue;
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    const methods = paths.get(path) ?? {};
    methods[route.method.toLowerCase()] = operation(route, toJson);
    paths.set(path, methods);
  }
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
    paths: Object.fromEntries(paths),
    components: {
      schemas: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
      responses: Object.fromEntries(problems) as Json,
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

type ToJson = (schema: z.ZodType, io: 'input' | 'output') => Json;

function operation(route: Route, toJson: ToJson): Json {
  const { needs, kind, summary, answers, body, bodyDoc } = route;
  const schema = bodyDoc ?? body;
  const open = needs === 'open';
  const parameters = [
    ...parametersOf(route.params, 'path', toJson),
    ...parametersOf(route.query, 'query', toJson),
    ...Object.entries(route.headers ?? {}).map(([name, description]) => ({
      name,
      in: 'header',
      required: false,
      description,
      schema: { type: 'string' },
    })),
  ];
  const own = Object.entries(answers).map(([status, doc]) => [
    status,
    answerOf(Number(status), doc, toJson),
  ]);
  const also = { ...(kind === 'api' ? ALWAYS : {}), ...(open ? {} : WITH_ROLE) };
  const problems = Object.keys(also)
    .filter((status) => !(Number(status) in answers))
    .map((status) => [status, { $ref: `#/components/responses/${status}` }]);
  return {
    operationId: operationId(route),
    summary,
    'x-role': needs,
    security: open ? [] : securityOf(needs),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(schema === undefined
      ? {}
      : {
          requestBody: {
            required: !schema.safeParse({}).success,
            content: { 'application/json': { schema: toJson(schema, 'input') } },
          },
        }),
    responses: Object.fromEntries([...own, ...problems]),
  };
}

function securityOf(needs: Route['needs']): Json[] {
  return needs === 'sender' ? [{ apiKey: [] }] : [{ session: [] }, { apiKey: [] }];
}

function answerOf(status: number, { says, schema, type }: AnswerDoc, toJson: ToJson): Json {
  const isProblem = status >= 400 && schema === undefined;
  const media = isProblem ? PROBLEM : (type ?? 'application/json');
  const found = isProblem ? problemAnswer : schema;
  const content =
    found === undefined
      ? { [media]: { schema: { type: 'string' } } }
      : { [media]: { schema: toJson(found, 'output') } };
  return { description: says === '' ? (STATUS_CODES[status] ?? '') : says, content };
}

function parametersOf(
  schema: z.ZodType | undefined,
  place: 'path' | 'query',
  toJson: ToJson,
): Json[] {
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape as Record<string, z.ZodType>).map(([name, field]) => {
    const { success: optional, data } = field.safeParse(undefined);
    return {
      name,
      in: place,
      required: place === 'path' || !optional,
      schema: { ...toJson(field, 'input'), ...(data === undefined ? {} : { default: data }) },
    };
  });
}

/** `GET /api/v1/batches/:id/failures.csv` becomes `getBatchesIdFailuresCsv`. */
function operationId({ method, path }: Route): string {
  const words = path.replace(/^\/api\/v1/, '').split(/[^A-Za-z0-9]+/);
  const named = words.map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`);
  return `${method.toLowerCase()}${named.join('')}`;
}

/** Removes what zod adds without use: bounds of safe integers, and closed answer objects. */
function simplifySchema(schema: z.core.JSONSchema.BaseSchema, io: 'input' | 'output'): void {
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
function reference(schema: z.ZodType, io: 'input' | 'output', components: Map<string, Json>): Json {
  const {
    $schema: _,
    $defs = {},
    id,
    ...found
  } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => simplifySchema(jsonSchema, io),
  }) as Json & { $defs?: Record<string, Json>; id?: string };
  const moved = (part: unknown): Json =>
    JSON.parse(JSON.stringify(part).replaceAll('"#/$defs/', '"#/components/schemas/')) as Json;
  for (const [name, definition] of Object.entries($defs)) {
    const { id: _id, ...rest } = definition;
    components.set(name, moved(rest));
  }
  if (id === undefined) return moved(found);
  components.set(id, moved(found));
  return { $ref: `#/components/schemas/${id}` };
}

/** @param routes that the document describes */
export function openApiRoutes(routes: readonly Route[]): Route[] {
  // The same for every request: made of all schemas once, and written as text once.
  let made: Buffer | undefined;
  const self: Route = route({
    method: 'GET',
    path: '/api/v1/openapi.json',
    needs: 'viewer',
    kind: 'api',
    summary: 'This document.',
    answers: { 200: { says: 'OpenAPI 3.1.' } },
    handle: () => {
      made ??= Buffer.from(JSON.stringify(openApi([...routes, self])));
      return { kind: 'file', type: 'application/json; charset=utf-8', body: made };
    },
  });
  return [self];
}
