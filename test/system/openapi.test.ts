import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect, it } from "vitest";
import { app } from "../support/app.ts";
import { isPublic } from "../../src/http/route.ts";
import { send } from "../support/caller.ts";

interface Operation {
  operationId: string;
  summary?: string;
  tags?: string[];
  security?: object[];
  parameters?: { in: string; name: string; required?: boolean; schema: object }[];
  requestBody?: { content: Record<string, { schema: object }> };
  responses: Record<string, { description?: string; $ref?: string; content?: Record<string, { schema: object }> }>;
}
interface Description {
  openapi: string;
  info: { title: string; version: string };
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, object>>;
}

const readDescription = async () => (await send("/openapi.json")).json<Description>();
const METHODS = new Set(["get", "put", "post", "delete", "patch", "options", "head"]);

it("every route is described", async () => {
  const { paths } = await readDescription();
  const routes = app.routes.filter(({ method, path }) => method !== "ALL" && !path.includes("*"));
  expect(routes.length).toBeGreaterThan(20);
  const undescribed = routes.filter(({ method, path }) => {
    const name = path.replaceAll(/:([a-zA-Z_]+)(\{[^}]*\})?\??/g, "{$1}").replace(/(.)\/$/, "$1");
    const operation = paths[name]?.[method.toLowerCase()];
    return !operation?.summary || !operation.tags?.length;
  });
  expect(undescribed.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
});

it("the credentials of specification section 5 are described by the headers they come in", async () => {
  const { securitySchemes } = (await readDescription()).components;
  expect(Object.values(securitySchemes ?? {})).toMatchObject([
    { type: "apiKey", in: "header", name: "X-API-Key" },
    { type: "apiKey", in: "header", name: "X-Tenant-Id" },
    { type: "http", scheme: "bearer" },
  ]);
});

/** Breaches of OpenAPI 3.1 in one operation, as far as our own code could make them. */
function breaches(path: string, method: string, operation: Operation, isSchema: (schema: object) => boolean): string[] {
  const parameters = operation.parameters ?? [];
  const inPath = parameters.filter((one) => one.in === "path");
  const wanted = new Set([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
  const bodies = Object.values(operation.requestBody?.content ?? {});
  const responses = Object.entries(operation.responses);
  const rules: Record<string, boolean> = {
    "the path begins with a slash": path.startsWith("/"),
    "the method is one of HTTP's": METHODS.has(method),
    "each name in the path is a required parameter":
      inPath.every(({ name, required }) => required && wanted.delete(name)) && wanted.size === 0,
    "parameters have schemas": parameters.every(({ schema }) => isSchema(schema)),
    "bodies have schemas": bodies.every(({ schema }) => isSchema(schema)),
    "there are responses": responses.length > 0,
    "responses have a status": responses.every(([status]) => /^([1-5](\d\d|XX)|default)$/.test(status)),
    "responses have a description": responses.every(([, response]) => response.$ref ?? response.description),
    "public routes need no credential": !isPublic(path) || operation.security?.length === 0,
  };
  return Object.entries(rules).flatMap(([rule, kept]) => (kept ? [] : [`${method} ${path}: ${rule}`]));
}

it("the description is valid OpenAPI 3.1", async () => {
  const description = await readDescription();
  expect(description).toMatchObject({ openapi: "3.1.0", info: { title: "Weir", version: expect.any(String) } });
  const ajv = new Ajv2020({ strict: false });
  addFormats(ajv);
  const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const isSchema = (schema: object) => ajv.validateSchema(schema) === true;
  expect(operations.flatMap(({ path, method, operation }) => breaches(path, method, operation, isSchema))).toEqual([]);
  expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(operations.length);
});

it("every reference leads somewhere", async () => {
  const description = await readDescription();
  const references = [...JSON.stringify(description).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(
    ([, pointer]) => pointer ?? "",
  );
  const at = (value: unknown, name: string) => (value as Record<string, unknown> | undefined)?.[name];
  expect(references.length).toBeGreaterThan(0);
  expect(references.filter((pointer) => pointer.split("/").reduce<unknown>(at, description) === undefined)).toEqual([]);
});

it("the registration of a client is described as it answers", async () => {
  const { post } = (await readDescription()).paths["/oauth/register"] ?? {};
  const ajv = new Ajv2020({ strict: false });
  const validates = (schema: object | undefined, value: unknown) => ajv.compile(schema ?? false)(value);
  const body = post?.requestBody?.content["application/json"]?.schema;
  expect(validates(body, { redirect_uris: ["https://app.example/cb"], client_name: "App" })).toBe(true);
  expect(validates(body, { redirect_uris: "https://app.example/cb" })).toBe(false);
  const answers: [given: unknown, status: number][] = [
    [{ redirect_uris: ["https://app.example/cb"] }, 201],
    [{ redirect_uris: [] }, 400],
    [{ client_name: "x".repeat(20_000) }, 413],
  ];
  for (const [given, status] of answers) {
    const response = await send("/oauth/register", { body: given });
    expect(response.status).toBe(status);
    const { content } = post?.responses[status] ?? {};
    expect(validates(content?.["application/json"]?.schema, await response.json())).toBe(true);
    expect(content).not.toHaveProperty("application/problem+json");
  }
});
