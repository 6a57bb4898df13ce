/** `/openapi.json`: OpenAPI 3.1, made from the routes and the schemas that validate their requests. */
import type { Handler, Hono } from "hono";
import { generateSpecs } from "hono-openapi";
import { isPublic } from "../http/route.ts";
import { isObject } from "../lib/json.ts";
import { withMountPrefix } from "../http/context.ts";
import type { App } from "../http/context.ts";
import { addExamples } from "./code-samples.ts";
import type { Operation } from "./examples.ts";
import { VERSION } from "./info.ts";

type Specs = Awaited<ReturnType<typeof generateSpecs>>;

const text = { type: "string" } as const;

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
          type: text,
          title: text,
          status: { type: "integer" },
          detail: text,
          message: text,
          errors: { type: "array", items: { type: "object", properties: { path: text, message: text } } },
        },
      },
    },
    responses: {
      Problem: {
        description: "The request failed.",
        content: {
          "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
          "text/plain": { schema: { ...text, description: "The detail alone, where Accept has no JSON." } },
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
    for (const [method, operation] of Object.entries(operations ?? {}) as [string, Operation][]) {
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
