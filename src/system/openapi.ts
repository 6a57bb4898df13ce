/** `x-codeSamples` of /openapi.json: the call of each route with curl, TypeScript and Python. */
import { type ExampleBody, exampleBody, exampleParameters, type OpenApiOperation } from "./examples.ts";
import type { Handler, Hono } from "hono";
import { generateSpecs } from "hono-openapi";
import { isPublic } from "../http/route.ts";
import { isObject } from "../lib/json.ts";
import { withMountPrefix, type App } from "../http/context.ts";
import { VERSION } from "./info.ts";

interface Call {
  method: string;
  path: string;
  parameters: [name: string, value: string][];
  /** With its question mark, or empty. */
  query: string;
  body: ExampleBody | undefined;
  isPublic: boolean;
  kind: "json" | "stream" | "socket";
}

/** The samples of one operation, and the same example as the body that a reader's call begins with. */
export function addExamples(method: string, path: string, operation: OpenApiOperation): void {
  const body = exampleBody(method, path, operation);
  const content = operation.requestBody?.content["application/json"];
  if (content && body && "json" in body) content.example = body.json;
  const { path: parameters, query } = exampleParameters(method, path, operation);
  const summary = operation.summary ?? "";
  const call: Call = {
    method: method.toUpperCase(),
    path,
    parameters,
    query: query.size > 0 ? `?${query.toString()}` : "",
    body,
    isPublic: operation.security?.length === 0,
    kind: summary.includes("WebSocket") ? "socket" : summary.includes("SSE") ? "stream" : "json",
  };
  operation["x-codeSamples"] = [
    { lang: "Shell", label: "curl", source: curl(call) },
    { lang: "TypeScript", label: "TypeScript", source: typescript(call) },
    { lang: "Python", label: "Python", source: python(call) },
  ];
}

const text = (value: unknown) => JSON.stringify(value, null, 2);
const indent = (block: string, by: string) => block.replaceAll("\n", `\n${by}`);
const quoteShell = (value: string) => `'${value.replaceAll("'", String.raw`'\''`)}'`;
const variable = (name: string) => name.toUpperCase();
const camel = (name: string) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
const fillPath = (path: string, by: (name: string) => string) =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => by(name));

function curl({ method, path, parameters, query, body, isPublic, kind }: Call): string {
  const url = `${fillPath(path, (name) => `$${variable(name)}`)}${query}`;
  const origin = kind === "socket" ? "${WEIR_URL/#http/ws}" : "$WEIR_URL";
  const options = [`${kind === "json" ? "" : "-N "}${method === "GET" ? "" : `-X ${method} `}"${origin}${url}"`];
  if (!isPublic) options.push(`-H "X-API-Key: $WEIR_API_KEY"`);
  if (body && "json" in body) options.push(`-H "Content-Type: application/json"`, `-d ${quoteShell(text(body.json))}`);
  if (body && "form" in body) {
    for (const [name, value] of Object.entries(body.form))
      options.push(`--data-urlencode ${quoteShell(`${name}=${value}`)}`);
  }
  if (body && "multipart" in body) {
    for (const [name, value] of Object.entries(body.multipart)) {
      options.push(`-F ${quoteShell(`${name}=${JSON.stringify(value)};type=application/json`)}`);
    }
  }
  const set = parameters.map(([name, value]) => `${variable(name)}=${quoteShell(value)}\n`);
  return `${set.join("")}curl ${options.join(" \\\n  ")}`;
}

function typescript({ method, path, parameters, query, body, isPublic, kind }: Call): string {
  const url = `${fillPath(path, (name) => `\${${camel(name)}}`)}${query}`;
  const set = parameters.map(([name, value]) => `const ${camel(name)} = ${JSON.stringify(value)};\n`).join("");
  const json = body && "json" in body;
  const headers = [
    ...(isPublic ? [] : [`"X-API-Key": process.env.WEIR_API_KEY!`]),
    ...(json ? [`"Content-Type": "application/json"`] : []),
  ].join(", ");
  if (kind === "socket") {
    return `${set}const url = \`\${process.env.WEIR_URL!.replace(/^http/, "ws")}${url}\`;
const socket = new WebSocket(url, { headers: { ${headers} } });
socket.onmessage = ({ data }) => console.log(data);`;
  }
  const options = [
    ...(method === "GET" ? [] : [`method: "${method}",`]),
    ...(headers ? [`headers: { ${headers} },`] : []),
    ...(json ? [`body: JSON.stringify(${indent(text(body.json), "  ")}),`] : []),
    ...(body && "form" in body ? [`body: new URLSearchParams(${indent(text(body.form), "  ")}),`] : []),
    ...(body && "multipart" in body ? ["body: form,"] : []),
  ];
  const parts = body && "multipart" in body ? Object.entries(body.multipart) : [];
  const form = parts.map(
    ([name, value]) =>
      `form.append(${JSON.stringify(name)}, new Blob([JSON.stringify(${text(value)})], { type: "application/json" }));\n`,
  );
  const given = options.length > 0 ? `, {\n  ${options.join("\n  ")}\n}` : "";
  const read =
    kind === "stream"
      ? "for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) console.log(chunk);"
      : "console.log(response.status, await response.text());";
  return `${set}${parts.length > 0 ? `const form = new FormData();\n${form.join("")}` : ""}const response = await fetch(\`\${process.env.WEIR_URL}${url}\`${given});
${read}`;
}

function python({ method, path, parameters, query, body, isPublic, kind }: Call): string {
  const url = `${fillPath(path, (name) => `{${name}}`)}${query}`;
  const set = parameters.map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`).join("");
  const headers = isPublic ? [] : [`headers={"X-API-Key": os.environ["WEIR_API_KEY"]},`];
  if (kind === "socket") {
    return `import os
from websockets.sync.client import connect

${set}url = os.environ["WEIR_URL"].replace("http", "ws", 1)
with connect(f"{url}${url}", additional_${headers[0]?.slice(0, -1)}) as socket:
    for message in socket:
        print(message)`;
  }
  const options = [
    `f"{os.environ['WEIR_URL']}${url}",`,
    ...headers,
    ...(body && "json" in body ? [`json=${indent(literal(body.json), "    ")},`] : []),
    ...(body && "form" in body ? [`data=${indent(literal(body.form), "    ")},`] : []),
    ...(body && "multipart" in body ? [`files=${indent(files(body.multipart), "    ")},`] : []),
    ...(kind === "stream" ? ["stream=True,"] : []),
  ];
  const read =
    kind === "stream"
      ? `for line in response.iter_lines(decode_unicode=True):\n    print(line)`
      : "print(response.status_code, response.text)";
  return `import os
${body && "multipart" in body ? "import json\n" : ""}import requests

${set}response = requests.${method.toLowerCase()}(
    ${options.join("\n    ")}
)
${read}`;
}

/** A JSON value in Python. */
function literal(value: unknown): string {
  const names: Record<string, string> = { true: "True", false: "False", null: "None" };
  return text(value).replaceAll(/"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g, (token) => names[token] ?? token);
}

function files(parts: Record<string, unknown>): string {
  const lines = Object.entries(parts).map(
    ([name, value]) =>
      `  ${JSON.stringify(name)}: (None, json.dumps(${indent(literal(value), "  ")}), "application/json"),`,
  );
  return `{\n${lines.join("\n")}\n}`;
}

// `/openapi.json`: OpenAPI 3.1, made from the routes and the schemas that validate their requests.

type Specs = Awaited<ReturnType<typeof generateSpecs>>;

const TextSchema = { type: "string" } as const;

const documentation = {
  info: { title: "Weir", version: VERSION, description: "Agent server and trace platform at the edge." },
  security: [{ apiKey: [] }, { apiKey: [], workspace: [] }, { bearer: [] }, { bearer: [], workspace: [] }],
  components: {
    securitySchemes: {
      apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
      workspace: {
        type: "apiKey",
        in: "header",
        name: "X-Tenant-Id",
        description: "The workspace's id. Required with an access token on /api/v1.",
      },
      bearer: { type: "http", scheme: "bearer", description: "An OAuth access token." },
    },
    schemas: {
      Problem: {
        type: "object",
        description: "RFC 9457 problem details; `detail` says what is wrong and how to fix it.",
        required: ["title", "status", "detail"],
        properties: {
          type: TextSchema,
          title: TextSchema,
          status: { type: "integer" },
          detail: TextSchema,
          code: TextSchema,
          message: TextSchema,
          errors: { type: "array", items: { type: "object", properties: { path: TextSchema, message: TextSchema } } },
        },
      },
    },
    responses: {
      Problem: {
        description: "The request failed.",
        content: {
          "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
          "text/plain": { schema: { ...TextSchema, description: "The detail alone, where Accept has no JSON." } },
        },
      },
    },
  },
} as const;

/** Serves the description of every route of `app`. */
export function openapi(app: Hono<App>): Handler<App> {
  let specs: Specs | undefined;
  return async (c) => {
    const options = {
      documentation: { ...structuredClone(documentation), servers: [{ url: withMountPrefix("") || "/" }] },
      includeEmptyPaths: true,
      excludeStaticFile: false,
    };
    specs ??= completeOperations(
      await generateSpecs(app, { ...options, defaultValidationErrorResponse: false } as never),
    );
    return c.json(specs);
  };
}

/** Adds what every operation has: a success, the one shape of failure, whether it needs a credential, and examples. */
function completeOperations(specs: Specs): Specs {
  const ids = new Set<string>();
  for (const [path, operations] of Object.entries(specs.paths)) {
    for (const [method, operation] of Object.entries(operations ?? {}) as [string, OpenApiOperation][]) {
      // The id is made of the path's words, which two paths may share.
      while (operation.operationId && ids.has(operation.operationId)) operation.operationId += "_";
      ids.add(operation.operationId ?? "");
      operation.responses ??= {};
      if (!Object.keys(operation.responses).some((status) => status.startsWith("2"))) {
        operation.responses["2XX"] = { description: "Success" };
      }
      operation.responses.default ??= { $ref: "#/components/responses/Problem" };
      if (isPublic(path)) operation.security = [];
      addExamples(method, path, operation);
    }
  }
  const named = nameShapes(specs.paths);
  specs.components = { ...specs.components, schemas: { ...specs.components?.schemas, ...named } };
  return specs;
}

/** Puts a reference in the place of every shape that has a title. Returns the shapes by their titles. */
function nameShapes(value: unknown, named: Record<string, object> = {}): Record<string, object> {
  if (typeof value !== "object" || value === null) return named;
  for (const [key, member] of Object.entries(value)) {
    nameShapes(member, named);
    if (!isObject(member) || typeof member.title !== "string") continue;
    named[member.title] = member;
    (value as Record<string, unknown>)[key] = { $ref: `#/components/schemas/${member.title}` };
  }
  return named;
}
