/** A workspace with a key, and calls made with it, in workerd tests. */
import { exports } from "cloudflare:workers";
import { projectExports } from "../../src/deployment.ts";
import type { OpenApi } from "./answers/document.ts";
import { watchAnswer } from "./answers/watch.ts";

export const ADMIN_KEY = "admin-key-of-the-tests";
const ORIGIN = "https://weir.test";

interface CallOptions {
  method?: string;
  /** An object is sent as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Caller {
  workspaceId: string;
  key: string;
  fetch(path: string, options?: CallOptions): Promise<Response>;
}

/** One request to the Worker under test, with no credential unless `headers` has one. */
export async function send(path: string, { method, body, headers = {} }: CallOptions = {}): Promise<Response> {
  const json =
    body !== undefined && typeof body !== "string" && !(body instanceof Uint8Array || body instanceof ReadableStream);
  const request = new Request(ORIGIN + path, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    body: json ? JSON.stringify(body) : (body as BodyInit | undefined),
  });
  return reach(request);
}

/** The Worker's answer to the request, compared with /openapi.json. */
export async function reach(request: Request): Promise<Response> {
  const { pathname: path } = new URL(request.url);
  const response = await exports.default.fetch(request);
  // An application of the test's own may serve any path.
  return projectExports.app ? response : watchAnswer(response, { method: request.method, path }, readDocument);
}

const readDocument = async () => (await exports.default.fetch(`${ORIGIN}/openapi.json`)).json<OpenApi>();

/** A new workspace and a key of it. */
export async function newCaller(): Promise<Caller> {
  const admin = { "x-api-key": ADMIN_KEY };
  const workspace = await send("/api/v1/workspaces", { body: { name: "test" }, headers: admin });
  const { id } = await workspace.json<{ id: string }>();
  const made = await send("/api/v1/api-keys", { body: { name: "test" }, headers: { ...admin, "x-tenant-id": id } });
  const { key } = await made.json<{ key: string }>();
  return {
    workspaceId: id,
    key,
    fetch: (path, options = {}) => send(path, { ...options, headers: { "x-api-key": key, ...options.headers } }),
  };
}
