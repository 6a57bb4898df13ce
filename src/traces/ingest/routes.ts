/** Where the tracing SDKs send runs. */
import type { Context, MiddlewareHandler } from "hono";
import { Hono } from "hono";
import { documented } from "../../http/documented.ts";
import { isObject, parseJson } from "../../http/json.ts";
import { Problem } from "../../http/problem.ts";
import type { App } from "../../http/types.ts";
import { decodedBody, wholeBody } from "./body.ts";
import { boundaryOf, readParts } from "./multipart.ts";
import { Gathering } from "./operations.ts";
import { take } from "./take.ts";

const doc = documented("Traces");
const batchRoute = doc("Take a batch of runs as JSON: {post, patch}");
const runRoute = doc("Take one run");

/** Ingest under a prefix of its own, such as /api/v1. */
export function ingestRoutes(): Hono<App> {
  return commonRoutes()
    .post("/runs/batch", batchRoute, async (c) => takeBatch(c, await jsonBody(c.req.raw)))
    .post("/runs", runRoute, async (c) => takeRun(c, await jsonBody(c.req.raw)));
}

/**
 * Ingest at the root, where `POST /runs` and `POST /runs/batch` are routes of the Agent Server too. The body tells: one
 * that is no trace run goes on to the next route, still readable.
 */
export function rootIngestRoutes(): Hono<App> {
  return commonRoutes()
    .post("/runs/batch", batchRoute, dispatch(isBatch, takeBatch))
    .post("/runs", runRoute, dispatch(isTraceRun, takeRun));
}

function commonRoutes(): Hono<App> {
  return new Hono<App>()
    .post("/runs/multipart", doc("Take runs as multipart/form-data"), async (c) => {
      const boundary = boundaryOf(c.req.header("content-type") ?? null);
      const gathering = new Gathering();
      await readParts(decodedBody(c.req.raw), boundary, (part) => gathering.addPart(part));
      return answer(c, gathering);
    })
    .patch("/runs/:run_id", doc("Update one run"), async (c) => {
      const gathering = new Gathering();
      gathering.addRun("patch", await jsonBody(c.req.raw), c.req.param("run_id"));
      return answerOne(c, gathering);
    });
}

async function takeBatch(c: Context<App>, body: unknown): Promise<Response> {
  if (!isObject(body)) throw new Problem(422, "Invalid body: expected an object with post and patch.");
  const gathering = new Gathering();
  for (const kind of ["post", "patch"] as const) {
    const runs = body[kind] ?? [];
    if (!Array.isArray(runs)) throw new Problem(422, `Invalid body.${kind}: expected a list of runs.`);
    for (const run of runs) gathering.addRun(kind, run);
  }
  return answer(c, gathering);
}

async function takeRun(c: Context<App>, body: unknown): Promise<Response> {
  const gathering = new Gathering();
  gathering.addRun("post", body);
  return answerOne(c, gathering);
}

async function answer(c: Context<App>, gathering: Gathering): Promise<Response> {
  return c.json(await take(c.env, c.get("principal"), gathering), 202);
}

/** A single run that cannot be taken is the caller's error, for nothing else rides on the request. */
async function answerOne(c: Context<App>, gathering: Gathering): Promise<Response> {
  const result = await take(c.env, c.get("principal"), gathering);
  const fault = result.errors[0];
  if (result.taken === 0 && fault) throw new Problem(422, `Invalid run: ${fault.message}.`);
  return c.json(result, 202);
}

async function jsonBody(request: Request): Promise<unknown> {
  const body = jsonOf(await wholeBody(request));
  if (body === undefined) throw new Problem(400, "Malformed JSON in request body.");
  return body;
}

/** `{post: […], patch: […]}`; the Agent Server's batch is a list. */
function isBatch(body: unknown): boolean {
  return isObject(body) && ("post" in body || "patch" in body);
}

/** A trace run has an id and a place or type; the Agent Server's has an assistant. */
function isTraceRun(body: unknown): boolean {
  if (!isObject(body) || "assistant_id" in body) return false;
  return ["run_type", "dotted_order", "trace_id", "session_name"].some((field) => field in body);
}

function dispatch(
  isOurs: (body: unknown) => boolean,
  handle: (c: Context<App>, body: unknown) => Promise<Response>,
): MiddlewareHandler<App> {
  return async (c, next) => {
    const bytes = await wholeBody(c.req.raw);
    const body = jsonOf(bytes);
    if (isOurs(body)) return handle(c, body);
    const headers = new Headers(c.req.raw.headers);
    headers.delete("content-encoding");
    headers.delete("content-length");
    c.req.raw = new Request(c.req.raw.url, { method: c.req.method, headers, body: bytes, signal: c.req.raw.signal });
    await next();
  };
}

function jsonOf(bytes: Uint8Array): unknown {
  return parseJson(new TextDecoder().decode(bytes));
}
