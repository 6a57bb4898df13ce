/** `POST /a2a/{assistant_id}`: both generations of A2A on one address. The method's name selects the generation. */
import { type Context, Hono } from "hono";
import { type Assistant, resolveAssistant } from "../../agents/assistants/store.ts";
import type { App } from "../../http/context.ts";
import {
  extensionRequired,
  contentNotSupported,
  INTERNAL_ERROR,
  invalidRequest,
  methodNotFound,
  parseError,
  RpcError,
  versionNotSupported,
} from "./errors.ts";
import { readSettings } from "./modes.ts";
import { describeRoute } from "hono-openapi";
import { createDoc, RPC } from "../../http/route.ts";
import * as v from "valibot";
import { database } from "../../db/client.ts";
import { decodeJson, isObject, nestsDeeper } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";
import { BODY_LIMIT, readBody } from "../../http/validate.ts";
import { mayUse } from "../../threads/api/access.ts";
import { type A2aCall, params } from "./call.ts";
import { extendedCard } from "./card.ts";
import { deletePush, getPush, listPush, setPush } from "./push.ts";
import { failure, jsonWhenReady, rpcEvent, success } from "./respond.ts";
import { CONTEXT_LENGTH, Envelope, List, PushQuery, Send, SetPush, TaskQuery } from "./schema.ts";
import { send, stream, subscribe } from "./send.ts";
import { cancel, get, listResponse } from "./tasks.ts";
import type { A2aGeneration } from "./types.ts";

// Extensions of A2A: those that an agent's card declares, and those that a call requests.

/** 1.0 and 0.3 name the header differently. */
const HEADERS = ["a2a-extensions", "x-a2a-extensions"];

/**
 * The headers of the answer: the requested extensions that the card declares. Throws −32008 when the card requires an
 * extension that the call does not request.
 */
export function activateExtensions(c: Context<App>, assistant: Assistant): Record<string, string> {
  const declared = readSettings(assistant).extensions ?? [];
  const asked = HEADERS.flatMap((name) => c.req.header(name)?.split(",") ?? []).map((uri) => uri.trim());
  const missing = declared.find(({ uri, required }) => required && !asked.includes(uri));
  if (missing) throw extensionRequired(missing.uri);
  const active = declared.filter(({ uri }) => asked.includes(uri)).map(({ uri }) => uri);
  if (active.length === 0) return {};
  return Object.fromEntries(HEADERS.filter((name) => c.req.header(name)).map((name) => [name, active.join(", ")]));
}

type Handler = (call: A2aCall, params: unknown) => Promise<unknown>;
type Schema = v.GenericSchema<unknown, unknown>;

/** The methods, by what each generation calls them. 0.3 defines no list method over JSON-RPC, but clients call one. */
const METHODS: [old: string, now: string, handler: Handler, params: Schema][] = [
  ["message/send", "SendMessage", send, Send],
  ["message/stream", "SendStreamingMessage", stream, Send],
  ["tasks/get", "GetTask", get, TaskQuery],
  ["tasks/list", "ListTasks", listResponse, List],
  ["tasks/cancel", "CancelTask", cancel, TaskQuery],
  ["tasks/resubscribe", "SubscribeToTask", subscribe, TaskQuery],
  ["tasks/pushNotificationConfig/set", "CreateTaskPushNotificationConfig", setPush, SetPush],
  ["tasks/pushNotificationConfig/get", "GetTaskPushNotificationConfig", getPush, PushQuery],
  ["tasks/pushNotificationConfig/list", "ListTaskPushNotificationConfigs", listPush, PushQuery],
  ["tasks/pushNotificationConfig/delete", "DeleteTaskPushNotificationConfig", deletePush, PushQuery],
  ["agent/getAuthenticatedExtendedCard", "GetExtendedAgentCard", extendedCard, v.unknown()],
];

interface Method {
  generation: A2aGeneration;
  handler: Handler;
  schema: Schema;
}
const BY_NAME = new Map(
  METHODS.flatMap(([old, now, handler, schema]): [string, Method][] => [
    [old, { generation: "0.3", handler, schema }],
    [now, { generation: "1.0", handler, schema }],
  ]),
);
export const A2A_METHODS = [...BY_NAME.keys()];
const streams = (method: Method | undefined) => method?.handler === stream || method?.handler === subscribe;

/** Objects and arrays may nest this deep. */
const DEPTH = 100;

async function readJson(c: Context<App>): Promise<unknown> {
  const type = c.req.header("content-type") ?? "";
  if (!/^application\/([\w.-]+\+)?json\b/i.test(type))
    throw contentNotSupported("Send the request as application/json.");
  const value = decodeJson(await readBody(c.req.raw, BODY_LIMIT));
  if (value === undefined) throw parseError();
  if (nestsDeeper(value, DEPTH)) throw invalidRequest(`The request nests deeper than ${DEPTH} levels.`);
  return value;
}

/**
 * The envelope. An `id` that is missing or null is reported last: with another id, a caller cannot distinguish it from an
 * answer that says that nothing can be answered. One of another type is reported first: it makes the request invalid.
 */
function parseEnvelope(value: unknown): Envelope {
  if (Array.isArray(value)) throw invalidRequest("Batches are not supported: send one request at a time.");
  const result = v.safeParse(Envelope, value);
  if (result.success) return result.output;
  const paths = result.issues.map((issue) => v.getDotPath(issue) ?? "");
  const path = paths.find((one) => one !== "id") ?? "id";
  const { id, method, params: given } = (value ?? {}) as { id?: unknown; method: string; params?: unknown };
  if (path === "id" && (id ?? null) === null) {
    const known = BY_NAME.get(method);
    if (!known) throw methodNotFound();
    params(known.schema, given ?? {});
  }
  const rules: Record<string, string> = {
    jsonrpc: 'jsonrpc must be "2.0".',
    id: "id must be a string or an integer.",
    method: "method must be a string.",
    metadata: "metadata must be an object.",
    "metadata.thread_id": `metadata.thread_id must be a string of at most ${CONTEXT_LENGTH} characters.`,
  };
  throw invalidRequest(rules[path] ?? "The request must be a JSON object.");
}

/** The id to echo, also of a request that is refused. */
function parseCallId(value: unknown): string | number | null {
  const id = isObject(value) ? value.id : null;
  return typeof id === "string" || Number.isSafeInteger(id) ? (id as string | number) : null;
}

/** `1.0.1` is as good as `1.0`: patches do not change the protocol. Without a version a caller means 0.3. */
function checkVersion(c: Context<App>): void {
  const given = (c.req.header("a2a-version") ?? c.req.query("A2A-Version") ?? "").trim();
  if (given !== "" && !/^(0\.3|1\.0)(\.\d+)?$/.test(given)) throw versionNotSupported();
}

const takesEvents = (c: Context<App>) => /text\/(event-stream|\*)|\*\/\*/i.test(c.req.header("accept") ?? "*/*");

async function respond(c: Context<App>): Promise<Response> {
  let id: string | number | null = null;
  let generation: A2aGeneration = "0.3";
  let inEvents = false;
  const refusal = (error: unknown) => {
    const body = failure(id, error, generation);
    if (body.error.code === INTERNAL_ERROR) c.set("serverFault", true);
    return body;
  };
  try {
    const value = await readJson(c);
    id = parseCallId(value);
    const name = isObject(value) && typeof value.method === "string" ? value.method : "";
    // Names of 1.0 begin with a capital letter, also those that do not exist.
    generation = BY_NAME.get(name)?.generation ?? (/^[A-Z]/.test(name) ? "1.0" : "0.3");
    // The official clients of 0.3 read every answer of a streaming method as events.
    inEvents = generation === "0.3" && streams(BY_NAME.get(name)) && takesEvents(c);
    const envelope = parseEnvelope(value);
    checkVersion(c);
    const method = BY_NAME.get(envelope.method);
    if (!method) throw methodNotFound();
    const { workspaceId } = c.get("principal");
    const assistant = await resolveAssistant(database(c.env.DB), workspaceId, c.req.param("assistant_id") ?? "");
    if (!assistant || !(await mayUse(c.get("principal"), assistant)))
      return Response.json(refusal(new RpcError(-32602, "No assistant of this id.")), { status: 404 });
    const call = { c, assistant, workspaceId, envelope, generation };
    const extensions = Object.entries(activateExtensions(c, assistant));
    const result = method.handler(call, envelope.params ?? {});
    const response = streams(method)
      ? ((await result) as Response)
      : await jsonWhenReady(result.then((value) => success(envelope.id, value), refusal));
    for (const [name, value] of extensions) response.headers.set(name, value);
    return response;
  } catch (error) {
    const status = error instanceof Problem && error.status === 413 ? 413 : 200;
    const body = refusal(error);
    return inEvents && status === 200 ? rpcEvent(body) : Response.json(body, { status });
  }
}

const doc = createDoc("A2A")("Agent2Agent JSON-RPC 2.0, versions 0.3 and 1.0", RPC);
const requestBodyDoc = describeRoute({
  requestBody: { required: true, content: { "application/json": { schema: { type: "object" } } } },
});

export const a2a = new Hono<App>().post("/:assistant_id", doc, requestBodyDoc, (c) => respond(c));
