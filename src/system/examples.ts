/** Examples for /openapi.json: a body and parameters of each operation, from its schemas. */
import { BODIES, type Body, ID, QUERIES, SHARED_BODIES, TELLING, VALUES } from "./example-values.ts";

export interface Schema {
  type?: string;
  anyOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  minimum?: number;
}

interface Parameter {
  in: string;
  name: string;
  required?: boolean;
  schema: Schema;
  example?: unknown;
}

export interface Operation {
  operationId?: string;
  summary?: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema; example?: unknown }> };
  responses?: Record<string, object>;
  security?: object[];
  "x-codeSamples"?: { lang: string; label: string; source: string }[];
}

/** A value that `schema` accepts. An object has the members that it requires, and those of `TELLING`. */
function buildExample(schema: Schema, name = ""): unknown {
  if (schema.format === "uuid") return ID;
  if (VALUES[name] !== undefined) return VALUES[name];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf) return buildExample(schema.anyOf.find(({ type }) => type !== "null") ?? {}, name);
  switch (schema.type ?? "any") {
    case "object":
      return exampleObject(schema);
    case "array":
      return [buildExample(schema.items ?? {}, name.replace(/s$/, ""))];
    case "boolean":
      return true;
    case "integer":
    case "number":
      return Math.max(schema.minimum ?? 1, 1);
    case "string":
      return exampleText(schema, name);
    default:
      return {};
  }
}

function exampleObject({ properties = {}, required = [] }: Schema): object {
  const members = Object.entries(properties).filter(([name]) => required.includes(name) || TELLING.has(name));
  return Object.fromEntries(members.map(([name, schema]) => [name, buildExample(schema, name)]));
}

function exampleText({ format }: Schema, name: string): string {
  if (format === "uuid" || /(^|_)ids?$/i.test(name)) return ID;
  if (format === "date-time") return "2026-01-01T00:00:00Z";
  return `my-${name.replaceAll("_", "-") || "text"}`;
}

/** The example body of an operation; undefined if it takes none. */
export function exampleBody(method: string, path: string, { requestBody }: Operation): Body | undefined {
  const route = `${method.toUpperCase()} ${path}`;
  if (BODIES[route]) return BODIES[route];
  const schema = requestBody?.content["application/json"]?.schema;
  return schema ? { json: buildExample(schema) } : SHARED_BODIES[route.replace(/ (\/api)?\/v1(?=\/)/, " ")];
}

/** The values of an operation's path parameters, and of the query parameters that it needs. */
export function exampleParameters(
  method: string,
  route: string,
  { parameters = [] }: Operation,
): {
  path: [string, string][];
  query: URLSearchParams;
} {
  const path: [string, string][] = [];
  const query = new URLSearchParams(QUERIES[`${method.toUpperCase()} ${route}`]);
  for (const { in: where, name, required, schema } of parameters) {
    const value = buildExample(schema, name);
    const text = typeof value === "string" ? value : JSON.stringify(value);
    if (where === "path") path.push([name, text]);
    else if (where === "query" && required) query.set(name, text);
  }
  return { path, query };
}
