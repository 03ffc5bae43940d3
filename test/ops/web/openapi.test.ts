import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, it } from 'vitest';
import { openApi } from '../../../src/ops/web/openapi.ts';
import { OPS_ROUTES } from '../../../src/ops/web/http/route-table.ts';

type Operation = Readonly<{
  operationId: string;
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
