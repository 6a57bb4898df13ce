/** Where the tracing SDKs send runs. */
import { type Context, type MiddlewareHandler, Hono } from "hono";
import type { MemoryReservation } from "../../lib/bytes.ts";
import { AnyObject } from "../../http/shapes.ts";
import { createDoc } from "../../http/route.ts";
import { refuseManyValues } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { decodedBody, readWholeBody, withReservation } from "./body.ts";
import { readBoundary, type MultipartPart, readParts } from "./multipart.ts";
import { type OperationGatherer, REQUEST_VALUES } from "./operations.ts";
import { readElements, isObjectText, readMembers } from "./reader.ts";
import { Intake } from "./intake.ts";
import { requirePermission } from "../../access/auth/roles.ts";

const doc = createDoc("Traces");
const TAKEN = { 202: AnyObject };
const batchRoute = doc("Take a batch of runs as JSON: {post, patch}", TAKEN);
const runRoute = doc("Take one run", TAKEN);

/** Gathered runs of this many bytes are stored before more of the body is read. */
const PIECE_BYTES = 4 * 1024 * 1024;

/** Ingest under a prefix of its own, such as /api/v1. */
export function ingestRoutes(): Hono<App> {
  return commonRoutes()
    .post("/runs/batch", batchRoute, takeWhole(takeBatch))
    .post("/runs", runRoute, takeWhole(takeRun));
}

/**
 * Ingest at the root, where `POST /runs` and `POST /runs/batch` are routes of the Agent Server too. The body decides: a
 * request that is no trace run continues to the next route, with its body still readable.
 */
export function rootIngestRoutes(): Hono<App> {
  return commonRoutes()
    .post("/runs/batch", batchRoute, dispatch(isBatch, takeBatch))
    .post("/runs", runRoute, dispatch(isTraceRun, takeRun));
}

function commonRoutes(): Hono<App> {
  return new Hono<App>()
    .post("/runs/multipart", doc("Take runs as multipart/form-data", TAKEN), (c) =>
      withReservation(c, async (reservation) => {
        const boundary = readBoundary(c.req.header("content-type") ?? null);
        const intake = await Intake.begin(c);
        const { gathering } = intake;
        const add = (part: MultipartPart) => gathering.addPart(part);
        await readParts(decodedBody(c.req.raw), boundary, add, async (waiting) => {
          await reservation.hold(waiting + gathering.weight);
          if (gathering.weight > PIECE_BYTES) await intake.store();
        });
        return batchAnswer(c, intake);
      }),
    )
    .patch(
      "/runs/:run_id",
      doc("Update one run", TAKEN),
      takeWhole((c, _claim, body) => takeOne(c, "patch", body, c.req.param("run_id"))),
    );
}

type Take = (c: Context<App>, reservation: MemoryReservation, body: Uint8Array) => Promise<Response>;

function takeWhole(handle: Take): (c: Context<App>) => Promise<Response> {
  return (c) =>
    withReservation(c, async (reservation) => handle(c, reservation, await readWholeJson(c.req.raw, reservation)));
}

async function readWholeJson(request: Request, reservation: MemoryReservation): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await readWholeBody(request, reservation);
  refuseManyValues(bytes, REQUEST_VALUES);
  return bytes;
}

async function takeBatch(c: Context<App>, reservation: MemoryReservation, body: Uint8Array): Promise<Response> {
  if (!isObjectText(body)) throw new Problem(422, "Invalid body: expected an object with post and patch.");
  const intake = await Intake.begin(c);
  const { gathering } = intake;
  for (const [kind, runs] of readMembers(body)) {
    if ((kind !== "post" && kind !== "patch") || isNull(runs)) continue;
    if (isObjectText(runs) || runs[0] !== 0x5b)
      throw new Problem(422, `Invalid body.${kind}: expected a list of runs.`);
    for (const run of readElements(runs)) {
      gathering.addRunText(kind, run);
      if (gathering.weight <= PIECE_BYTES) continue;
      await reservation.hold(body.byteLength + gathering.weight);
      await intake.store();
    }
  }
  return batchAnswer(c, intake);
}

/** 202 with what was rejected. 422 when that is everything: the SDKs read the status alone, and report a refusal. */
async function batchAnswer(c: Context<App>, intake: Intake): Promise<Response> {
  const answer = await intake.finish();
  if (!intake.isInVain) return c.json(answer, 202);
  const errors = answer.errors.map(({ id, message }) => ({ path: id ?? "", message }));
  throw new Problem(422, `No run was taken: ${errors[0]?.message ?? "see errors"}.`, { errors });
}

function isNull(json: Uint8Array): boolean {
  return json.byteLength === 4 && json[0] === 0x6e;
}

async function takeRun(c: Context<App>, _claim: MemoryReservation, body: Uint8Array): Promise<Response> {
  return takeOne(c, "post", body);
}

/** Takes a single run. 422 for any fault, because the request holds nothing else. */
async function takeOne(c: Context<App>, kind: "post" | "patch", body: Uint8Array, id?: string): Promise<Response> {
  const intake = await Intake.begin(c);
  intake.gathering.addRunText(kind, body, id);
  refuseFaults(intake.gathering);
  const answer = await intake.finish();
  refuseFaults(intake.gathering);
  return c.json(answer, 202);
}

function refuseFaults({ rejected, faults: [fault] }: OperationGatherer): void {
  if (rejected > 0) throw new Problem(422, `Invalid run: ${fault?.message}.`);
}

/** `{post: […], patch: […]}`; the Agent Server's batch is a list. */
function isBatch(names: Set<string>): boolean {
  return names.has("post") || names.has("patch");
}

/** A trace run has an id and a place or type; the Agent Server's has an assistant. */
function isTraceRun(names: Set<string>): boolean {
  if (names.has("assistant_id")) return false;
  return ["run_type", "dotted_order", "trace_id", "session_name"].some((field) => names.has(field));
}

function dispatch(isOurs: (names: Set<string>) => boolean, handle: Take): MiddlewareHandler<App> {
  return async (c, next) => {
    const taken = await withReservation(c, async (reservation) => {
      const bytes = await readWholeJson(c.req.raw, reservation);
      const isTrace = isOurs(namesIn(bytes));
      requirePermission(c.get("principal"), isTrace ? "traces.write" : "runs.create");
      if (isTrace) return handle(c, reservation, bytes);
      const headers = new Headers(c.req.raw.headers);
      headers.delete("content-encoding");
      headers.delete("content-length");
      c.req.raw = new Request(c.req.raw.url, { method: c.req.method, headers, body: bytes, signal: c.req.raw.signal });
      return undefined;
    });
    return taken ?? (await next());
  };
}

/** The names of a body's first hundred members. Empty when the body is not a JSON object. */
function namesIn(body: Uint8Array): Set<string> {
  const names = new Set<string>();
  try {
    for (const [name] of readMembers(body)) {
      names.add(name);
      if (names.size === 100) break;
    }
    return names;
  } catch {
    return new Set();
  }
}
