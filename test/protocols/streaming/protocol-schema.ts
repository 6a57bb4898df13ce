/**
 * The events of agent-protocol's `streaming/protocol.cddl` (0.0.13) in the spelling of the wire. A map that the CDDL does not
 * extend is strict. `satisfies` holds each shape to the types of @langchain/protocol.
 */
import type * as p from "@langchain/protocol";
import * as v from "valibot";

const uint = v.pipe(v.number(), v.integer(), v.minValue(0));
const text = v.string();
const map = v.record(v.string(), v.unknown());
const either = v.nullable(v.string());
const index = v.optional(v.union([v.pipe(v.number(), v.integer()), text]));
const id = v.optional(text);

const media = { id, file_id: id, url: id, base64: id, mime_type: id, index };
const annotation = v.variant("type", [
  v.looseObject({
    type: v.literal("citation"),
    url: id,
    title: id,
    start_index: v.optional(uint),
    end_index: v.optional(uint),
    cited_text: id,
  }),
  v.looseObject({ type: v.literal("non_standard_annotation"), id, value: map }),
]);
const FINALIZED = [
  v.looseObject({ type: v.literal("text"), text, id, index, annotations: v.optional(v.array(annotation)) }),
  v.looseObject({ type: v.literal("reasoning"), reasoning: id, id, index }),
  v.looseObject({ type: v.literal("tool_call"), id: either, name: text, args: map, index }),
  v.looseObject({
    type: v.literal("invalid_tool_call"),
    id: either,
    name: either,
    args: either,
    error: either,
    index,
  }),
  v.looseObject({ type: v.literal("server_tool_call"), id: text, name: text, args: map, index }),
  v.looseObject({
    type: v.literal("server_tool_result"),
    tool_call_id: text,
    status: v.picklist(["success", "error"]),
    id,
    index,
  }),
  v.looseObject({ type: v.literal("image"), ...media }),
  v.looseObject({ type: v.literal("audio"), ...media }),
  v.looseObject({ type: v.literal("video"), ...media }),
  v.looseObject({ type: v.literal("file"), ...media }),
  v.looseObject({ type: v.literal("non_standard"), value: map, id, index }),
] as const;
const finalized = v.variant("type", FINALIZED);
const block = v.variant("type", [
  ...FINALIZED,
  v.looseObject({ type: v.literal("tool_call_chunk"), id: either, name: either, args: either, index }),
  v.looseObject({ type: v.literal("server_tool_call_chunk"), id, name: id, args: id, index }),
]);

const delta = v.variant("type", [
  v.looseObject({ type: v.literal("text-delta"), text }),
  v.looseObject({ type: v.literal("reasoning-delta"), reasoning: text }),
  v.looseObject({ type: v.literal("data-delta"), data: text, encoding: v.optional(v.literal("base64")) }),
  v.looseObject({ type: v.literal("block-delta"), fields: v.looseObject({ type: text }) }),
]) satisfies v.GenericSchema<unknown, p.ContentBlockDelta>;

const count = v.optional(uint);
const usage = v.looseObject({
  input_tokens: count,
  output_tokens: count,
  total_tokens: count,
  input_token_details: v.optional(v.looseObject({ audio: count, cache_creation: count, cache_read: count })),
  output_token_details: v.optional(v.looseObject({ audio: count, reasoning: count })),
}) satisfies v.GenericSchema<unknown, p.UsageInfo>;

const scalar = v.nullable(v.union([v.boolean(), v.number(), text]));
const messages = v.variant("event", [
  v.looseObject({
    event: v.literal("message-start"),
    role: v.picklist(["ai", "human", "system"]),
    id: text,
    metadata: v.optional(v.record(v.string(), scalar)),
  }),
  v.looseObject({ event: v.literal("content-block-start"), index: uint, content: block }),
  v.looseObject({ event: v.literal("content-block-delta"), index: uint, delta }),
  v.looseObject({ event: v.literal("content-block-finish"), index: uint, content: finalized }),
  v.looseObject({ event: v.literal("message-finish"), usage: v.optional(usage) }),
  v.looseObject({ event: v.literal("error"), message: text, code: id }),
]) satisfies v.GenericSchema<unknown, p.MessagesData>;

const call = { tool_call_id: text };
const tools = v.variant("event", [
  v.looseObject({ event: v.literal("tool-started"), ...call, tool_name: text }),
  v.looseObject({ event: v.literal("tool-output-delta"), ...call, delta: text }),
  v.looseObject({ event: v.literal("tool-finished"), ...call, output: v.any() }),
  v.looseObject({ event: v.literal("tool-error"), ...call, message: text, code: id }),
]) satisfies v.GenericSchema<unknown, p.ToolsData>;

const cause = v.variant("type", [
  v.strictObject({ type: v.literal("toolCall"), ...call }),
  v.strictObject({ type: v.literal("send"), from_node: text }),
  v.strictObject({ type: v.literal("edge"), from_node: text }),
]);
const lifecycle = v.strictObject({
  event: v.picklist(["started", "running", "completed", "failed", "interrupted"]),
  graph_name: id,
  cause: v.optional(cause),
  error: id,
  checkpoint: v.optional(v.strictObject({ id: text, ns: id })),
}) satisfies v.GenericSchema<unknown, p.LifecycleData>;

const checkpoint = v.looseObject({
  id: text,
  parent_id: id,
  step: v.pipe(v.number(), v.integer()),
  source: v.picklist(["input", "loop", "update", "fork"]),
}) satisfies v.GenericSchema<unknown, p.Checkpoint>;

/** An event of a method. `node`: its params may name one. */
const event = <M extends string, D extends v.GenericSchema>(method: M, data: D, node = {}) =>
  v.looseObject({
    type: v.literal("event"),
    event_id: id,
    seq: count,
    method: v.literal(method),
    params: v.strictObject({ namespace: v.array(text), timestamp: uint, ...node, data }),
  });

const Event = v.variant("method", [
  event("lifecycle", lifecycle),
  event("messages", messages, { node: id }),
  event("tools", tools, { node: id }),
  event("input.requested", v.looseObject({ interrupt_id: text, payload: v.unknown() })),
  event("values", v.unknown()),
  event("updates", v.looseObject({ node: id, values: map }) satisfies v.GenericSchema<unknown, p.UpdatesData>),
  event("checkpoints", checkpoint),
  event("custom", v.looseObject({ name: id, payload: v.unknown() })),
  event("tasks", v.unknown()),
  // What the CDDL does not have and the JavaScript SDK reads: see docs/compatibility.md.
  event("input.answered", v.strictObject({ interrupt_ids: v.array(text) })),
]);

const refusal = { reason: v.literal("unknown_interrupt"), interrupt_ids: v.array(text), pending_ids: v.array(text) };
const Refused = event("lifecycle", v.strictObject({ ...lifecycle.entries, event: v.literal("failed"), ...refusal }));

const meta = v.optional(v.looseObject({ applied_through_seq: count }));
const Answer = v.variant("type", [
  v.looseObject({ type: v.literal("success"), id: uint, result: map, meta }) satisfies v.GenericSchema<
    unknown,
    Omit<p.CommandResponse, "result">
  >,
  v.looseObject({
    type: v.literal("error"),
    id: v.nullable(uint),
    error: v.picklist([
      "invalid_argument",
      "unknown_command",
      "unknown_error",
      "no_such_run",
      "no_such_subscription",
      "no_such_namespace",
      "no_such_interrupt",
      "no_such_checkpoint",
      "permission_denied",
      "not_supported",
    ]),
    message: text,
    stacktrace: id,
    meta,
  }) satisfies v.GenericSchema<unknown, p.ErrorResponse>,
]);

/** Throws when an event is not one of the protocol's. */
export function checkEvent(given: unknown): void {
  if (!v.is(Refused, given)) check(Event, given);
}

/** Throws when the answer to a command is not one of the protocol's. */
export const checkAnswer = (given: unknown): void => check(Answer, given);

function check(schema: v.GenericSchema, given: unknown): void {
  const { issues } = v.safeParse(schema, given);
  if (!issues) return;
  const wrong = issues.map((issue) => `${v.getDotPath(issue)}: ${issue.message}`).join("; ");
  throw new Error(`This is no message of the protocol (${wrong}): ${JSON.stringify(given).slice(0, 2_000)}`);
}
