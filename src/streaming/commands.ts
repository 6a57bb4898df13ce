/** The protocol's commands over HTTP and WebSocket: one table, one shape of answers. */
import * as v from "valibot";
import { AnyObject } from "../http/shapes.ts";
import { toProblem } from "../lib/problem.ts";
import { parse } from "../http/validate.ts";
import type { Json } from "../lib/json.ts";
import type { Answer, Commander } from "./commander.ts";
import { CommandError, ERROR_CODES, type ErrorCode } from "./errors.ts";
import { fork, inject, respond, runStart } from "../protocols/streaming/commands.ts";
import type { Command } from "../protocols/streaming/schema.ts";
import * as schema from "../protocols/streaming/schema.ts";
import { getState, getTree, listCheckpoints } from "./state-commands.ts";

export const Answered = v.variant("type", [
  v.object({ type: v.literal("success"), id: v.number(), result: AnyObject, meta: v.optional(AnyObject) }),
  v.object({
    type: v.literal("error"),
    id: v.nullable(v.number()),
    error: v.picklist(ERROR_CODES),
    message: v.string(),
  }),
]);
export type Response = v.InferOutput<typeof Answered>;

/** `params` are checked by each command's own schema. */
type Handler = (by: Commander, params: Json, command: Command) => Promise<Answer>;

const COMMANDS: Record<string, Handler> = {
  "run.start": (by, params, command) => runStart(by, parse(schema.RunStart, params, "params"), command),
  "input.respond": (by, params, command) => respond(by, parse(schema.Respond, params, "params"), command),
  "input.inject": (by, params, command) => inject(by, parse(schema.Inject, params, "params"), command),
  "state.get": (by, params) => getState(by, parse(schema.StateGet, params, "params")),
  "state.listCheckpoints": (by, params) => listCheckpoints(by, parse(schema.ListCheckpoints, params, "params")),
  "state.fork": (by, params, command) => fork(by, parse(schema.Fork, params, "params"), command),
  "agent.getTree": (by, params) => getTree(by, parse(schema.GetTree, params, "params")),
  "subscription.subscribe": unsupported("A subscription needs a WebSocket. Over HTTP, POST its filter to the stream."),
  "subscription.unsubscribe": unsupported("A subscription needs a WebSocket. Over HTTP, close the stream."),
  "subscription.reconnect": unsupported(
    "Subscribe again, with `since` or `since_event_id`: what was missed is replayed.",
  ),
};
export const COMMAND_NAMES = Object.keys(COMMANDS);

/** Runs a command. Never throws: errors are answers. */
export async function runCommand(
  by: Commander,
  command: Command,
  more: Record<string, Handler> = {},
): Promise<Response> {
  const { id, method } = command;
  const handlers = { ...COMMANDS, ...more };
  const handler = Object.hasOwn(handlers, method) ? handlers[method] : undefined;
  try {
    if (!handler) throw new CommandError("unknown_command", `There is no command "${method}".`);
    return { type: "success", id, ...(await handler(by, command.params ?? {}, command)) };
  } catch (error) {
    return { type: "error", id, ...failure(error) };
  }
}

function unsupported(message: string): Handler {
  return async () => {
    throw new CommandError("not_supported", message);
  };
}

function failure(error: unknown): { error: ErrorCode; message: string } {
  if (error instanceof CommandError) return { error: error.code, message: error.message };
  const { status, detail } = toProblem(error);
  if (status === 403) return { error: "permission_denied", message: detail };
  return { error: status >= 500 ? "unknown_error" : "invalid_argument", message: detail };
}
