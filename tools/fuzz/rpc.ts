/** JSON-RPC of A2A and MCP. */
import { A2A_PARAMS, MCP_PARAMS } from "../../test/security/methods.ts";
import type { Things } from "../../test/security/things.ts";
import type { Dice } from "./dice.ts";
import { someHeaders } from "./headers.ts";
import { pickHostileNumber, hostileObject, hostileText, hostileValue } from "./hostile.ts";
import { encodeBody } from "./operations.ts";
import type { FuzzRequest } from "./request.ts";
import { target } from "./texts.ts";
import type { Actor, Known } from "./world.ts";

const A2A = Object.keys(A2A_PARAMS);
const MCP = [
  ...Object.keys(MCP_PARAMS),
  "notifications/initialized",
  "notifications/cancelled",
  "resources/list",
  "prompts/get",
  "logging/setLevel",
  "completion/complete",
];

/** The arguments of the tables' methods, with ids that the actor has. */
export const createThings = (dice: Dice, known: Known): Things =>
  new Proxy({} as Things, { get: (_, name) => known.id(dice, String(name)) });

export function a2aRequest(dice: Dice, actor: Actor): FuzzRequest {
  const { known } = actor;
  const method = dice.chance(0.95) ? dice.pick(A2A) : hostileText(dice);
  const task = dice.chance(0.5)
    ? known.id(dice, "task_id")
    : `${known.id(dice, "thread_id")}:${known.id(dice, "run_id")}`;
  const message = {
    messageId: dice.chance(0.9) ? dice.uuid() : hostileValue(dice),
    role: dice.pick(["user", "ROLE_USER", "agent", "x"]),
    parts: dice.some(4, () => part(dice)),
    ...(dice.chance(0.4) && { contextId: known.id(dice, "thread_id") }),
    ...(dice.chance(0.3) && { taskId: task }),
    ...(dice.chance(0.2) && { metadata: hostileObject(dice) }),
  };
  const configuration = {
    blocking: dice.chance(0.5),
    acceptedOutputModes: dice.some(2, () => dice.pick(["text/plain", "application/json", hostileText(dice)])),
    historyLength: dice.pick([0, 1, 10, pickHostileNumber(dice)]),
    ...(dice.chance(0.2) && { pushNotificationConfig: { url: target(dice), token: hostileText(dice) } }),
  };
  const send = { message, ...(dice.chance(0.5) && { configuration }) };
  const asked = {
    id: task,
    taskId: task,
    historyLength: dice.pick([0, 1, pickHostileNumber(dice)]),
    pageSize: dice.pick([0, 1, 100, pickHostileNumber(dice)]),
    pageToken: hostileText(dice),
    contextId: known.id(dice, "thread_id"),
    status: dice.pick(["TASK_STATE_COMPLETED", "working", hostileText(dice)]),
    pushNotificationConfigId: known.id(dice, "push_id"),
    pushNotificationConfig: { url: target(dice), authentication: { schemes: [hostileText(dice)], credentials: "c" } },
    url: target(dice),
  };
  const params = dice.chance(0.1)
    ? hostileValue(dice)
    : /send|message/i.test(method)
      ? send
      : Object.fromEntries(Object.entries(asked).filter(([name]) => name === "id" || dice.chance(0.4)));
  return call(
    dice,
    actor,
    "a2a",
    `/a2a/${encodeURIComponent(dice.chance(0.6) ? dice.pick(["echo", "agent", "approval"]) : known.id(dice, "assistant_id").toWellFormed())}`,
    method,
    params,
  );
}

function part(dice: Dice): unknown {
  return dice.pick([
    () => ({ kind: "text", text: hostileText(dice) }),
    () => ({ text: hostileText(dice) }),
    () => ({ data: hostileValue(dice) }),
    () => ({ kind: "file", file: { bytes: dice.pick(["aGk=", "!", hostileText(dice)]), mimeType: hostileText(dice) } }),
    () => ({ url: target(dice), mediaType: hostileText(dice) }),
    () => hostileValue(dice),
  ])();
}

export function mcpRequest(dice: Dice, actor: Actor): FuzzRequest {
  const method = dice.chance(0.95) ? dice.pick(MCP) : hostileText(dice);
  const params = dice.chance(0.2)
    ? hostileValue(dice)
    : {
        name: dice.pick(["echo", "agent", "approval", "research", hostileText(dice)]),
        arguments: dice.chance(0.5)
          ? { messages: [{ role: "user", content: hostileText(dice) }] }
          : hostileObject(dice),
        cursor: dice.pick(["0", "1", "-1", "1e9", hostileText(dice)]),
        protocolVersion: dice.pick(["2025-06-18", hostileText(dice)]),
        capabilities: {},
        clientInfo: { name: hostileText(dice), version: "1" },
      };
  return call(dice, actor, "mcp", "/mcp", method, params);
}

function call(dice: Dice, actor: Actor, kind: string, path: string, method: unknown, params: unknown): FuzzRequest {
  const one = {
    jsonrpc: dice.chance(0.98) ? "2.0" : hostileValue(dice),
    id: dice.chance(0.9) ? dice.int(0, 9) : hostileValue(dice),
    method: dice.chance(0.98) ? method : hostileValue(dice),
    params,
    ...(dice.chance(0.1) && { metadata: { thread_id: hostileText(dice) } }),
  };
  const accept = { accept: "application/json, text/event-stream" };
  const headers = { ...actor.headers, ...(dice.chance(0.8) && accept), ...someHeaders(dice) };
  const value = dice.chance(0.02) ? dice.some(3, () => one) : one;
  return { kind, actor: actor.name, method: "POST", path, ...encodeBody(dice, value, headers) };
}
