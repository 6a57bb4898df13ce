/** `POST /a2a/{assistant_id}`: both generations of A2A on one address. The method's name says which one is spoken. */
import { type Context, Hono } from "hono";
import { describeRoute } from "hono-openapi";
import * as v from "valibot";
import { resolveAssistant } from "../assistants/store.ts";
import { database } from "../db/client.ts";
import { decodeJson, isObject, nestsDeeper } from "../http/json.ts";
import { Problem } from "../http/problem.ts";
import type { App } from "../http/types.ts";
import { BODY_LIMIT, readBody } from "../http/validate.ts";
import { mayUse } from "../users/authorize.ts";
import type { Call } from "./call.ts";
import { extendedCard } from "./cards.ts";
import {
  contentNotSupported,
  invalidRequest,
  methodNotFound,
  parseError,
  RpcError,
  versionNotSupported,
} from "./errors.ts";
import { deletePush, getPush, listPush, setPush } from "./push.ts";
import { failure, jsonWhenReady, success } from "./respond.ts";
import { CONTEXT_LENGTH, Envelope } from "./schema.ts";
import { send, stream, subscribe } from "./send.ts";
import { cancel, get, list } from "./tasks.ts";
import type { Generation } from "./types.ts";

type Handler = (call: Call, params: unknown) => Promise<unknown>;

/** The methods, by what each generation calls them. 0.3 has no list over JSON-RPC; callers ask for one all the same. */
const METHODS: [old: string, now: string, handler: Handler][] = [
  ["message/send", "SendMessage", send],
  ["message/stream", "SendStreamingMessage", stream],
  ["tasks/get", "GetTask", get],
  ["tasks/list", "ListTasks", list],
  ["tasks/cancel", "CancelTask", cancel],
  ["tasks/resubscribe", "SubscribeToTask", subscribe],
  ["tasks/pushNotificationConfig/set", "CreateTaskPushNotificationConfig", setPush],
  ["tasks/pushNotificationConfig/get", "GetTaskPushNotificationConfig", getPush],
  ["tasks/pushNotificationConfig/list", "ListTaskPushNotificationConfigs", listPush],
  ["tasks/pushNotificationConfig/delete", "DeleteTaskPushNotificationConfig", deletePush],
  ["agent/getAuthenticatedExtendedCard", "GetExtendedAgentCard", extendedCard],
];
const BY_NAME = new Map(
  METHODS.flatMap(([old, now, handler]): [string, { generation: Generation; handler: Handler }][] => [
    [old, { generation: "0.3", handler }],
    [now, { generation: "1.0", handler }],
  ]),
);
export const A2A_METHODS = [...BY_NAME.keys()];

/** Objects and arrays may nest this deep. */
const DEPTH = 100;

async function bodyOf(c: Context<App>): Promise<unknown> {
  const type = c.req.header("content-type") ?? "";
  if (!/^application\/([\w.-]+\+)?json\b/i.test(type))
    throw contentNotSupported("Send the request as application/json.");
  const value = decodeJson(await readBody(c.req.raw, BODY_LIMIT));
  if (value === undefined) throw parseError();
  if (nestsDeeper(value, DEPTH)) throw invalidRequest(`The request nests deeper than ${DEPTH} levels.`);
  return value;
}

function envelopeOf(value: unknown): Envelope {
  if (Array.isArray(value)) throw invalidRequest("Batches are not supported: send one request at a time.");
  const result = v.safeParse(Envelope, value);
  if (result.success) return result.output;
  const path = v.getDotPath(result.issues[0]) ?? "";
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
function idOf(value: unknown): string | number | null {
  const id = isObject(value) ? value.id : null;
  return typeof id === "string" || Number.isSafeInteger(id) ? (id as string | number) : null;
}

/** `1.0.1` is as good as `1.0`: patches do not change the protocol. Without a version a caller means 0.3. */
function checkVersion(c: Context<App>): void {
  const given = (c.req.header("a2a-version") ?? c.req.query("A2A-Version") ?? "").trim();
  if (given !== "" && !/^(0\.3|1\.0)(\.\d+)?$/.test(given)) throw versionNotSupported();
}

async function answer(c: Context<App>): Promise<Response> {
  let id: string | number | null = null;
  let generation: Generation = "0.3";
  try {
    const value = await bodyOf(c);
    id = idOf(value);
    const name = isObject(value) ? String(value.method) : "";
    // Names of 1.0 begin with a capital letter, also those that do not exist.
    generation = BY_NAME.get(name)?.generation ?? (/^[A-Z]/.test(name) ? "1.0" : "0.3");
    const envelope = envelopeOf(value);
    checkVersion(c);
    const method = BY_NAME.get(envelope.method);
    if (!method) throw methodNotFound();
    const { workspaceId } = c.get("principal");
    const assistant = await resolveAssistant(database(c.env.DB), workspaceId, c.req.param("assistant_id") ?? "");
    if (!assistant || !(await mayUse(c.get("principal"), assistant)))
      return Response.json(failure(id, new RpcError(-32602, "No assistant of this id."), generation), { status: 404 });
    const call = { c, assistant, workspaceId, envelope, generation };
    const result = method.handler(call, envelope.params ?? {});
    if (method.handler === stream || method.handler === subscribe) return (await result) as Response;
    return await jsonWhenReady(
      result.then(
        (value) => success(envelope.id, value),
        (error: unknown) => failure(envelope.id, error, generation),
      ),
    );
  } catch (error) {
    const status = error instanceof Problem && error.status === 413 ? 413 : 200;
    return Response.json(failure(id, error, generation), { status });
  }
}

const doc = describeRoute({
  tags: ["A2A"],
  summary: "Agent2Agent JSON-RPC 2.0, versions 0.3 and 1.0",
  requestBody: { required: true, content: { "application/json": { schema: { type: "object" } } } },
  responses: { 200: { description: "A JSON-RPC answer, or for streaming methods SSE events that each hold one" } },
});

export const a2a = new Hono<App>().post("/:assistant_id", doc, (c) => answer(c));
