import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, it } from 'vitest';
import { openApi } from '../../../src/ops/web/openapi.ts';
import { OPS_ROUTES } from '../../../src/ops/web/http/route-table.ts';

type Operation = Readonly<{
  operationId: string;
  'x-role': string;
  security: readonly object[];
  responses: Readonly<Record<string, unknown>>;
  parameters?: readonly { name: string; in: string; required: boolean }[];
}>;

const document = openApi(OPS_ROUTES) as {
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
);

it('is a valid OpenAPI document', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  expect([valid, errors]).toEqual([true, undefined]);
});

it('is the one in docs', () => {
  const kept: unknown = JSON.parse(readFileSync('docs/openapi.json', 'utf8'));
  expect(JSON.parse(JSON.stringify(document))).toEqual(kept);
});

it('describes every route of the API and nothing else, each under a name of its own', () => {
  const routes = OPS_ROUTES.filter(({ kind }) => kind === 'api' || kind === 'health');
  const names = routes.map(({ method, path }) => {
    return `${method.toLowerCase()} ${path.replaceAll(/:(\w+)/g, '{$1}')}`;
  });
  expect(operations.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(names.sort());
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(names.length);
});

it('says of each whom it lets in, and what it answers to others', () => {
  for (const { path, security, responses, ...operation } of operations) {
    const open = operation['x-role'] === 'open';
    expect([path, security.length > 0]).toEqual([path, !open]);
    if (open) continue;
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(['401', '403', '503']));
  }
});

it('names every part of a path, and nothing that is not there', () => {
  for (const { path, parameters = [] } of operations) {
    const inPath = parameters.filter((parameter) => parameter.in === 'path');
    expect(inPath.every(({ required }) => required)).toBe(true);
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect(inPath.map(({ name }) => name)).toEqual(names);
  }
});
