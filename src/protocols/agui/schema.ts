/** The request of AG-UI 1.0: `RunAgentInput`. Unknown members are ignored, as the protocol's versioning asks. */
import * as v from "valibot";
import { JsonObject } from "../../lib/json.ts";

const Id = v.pipe(v.string(), v.minLength(1), v.maxLength(255));

const ToolCall = v.object({
  id: v.string(),
  function: v.object({ name: v.string(), arguments: v.optional(v.string(), "") }),
});

/** `role` is open: messages of roles that no model reads, such as `activity`, are left out later. */
const AguiMessage = v.object({
  id: Id,
  role: v.string(),
  name: v.nullish(v.string()),
  content: v.nullish(v.union([v.string(), v.array(JsonObject), JsonObject])),
  toolCalls: v.nullish(v.array(ToolCall)),
  toolCallId: v.nullish(v.string()),
  error: v.nullish(v.string()),
});

const AguiResume = v.object({
  interruptId: v.string(),
  status: v.picklist(["resolved", "cancelled"]),
  payload: v.optional(v.unknown()),
});

/** `forwardedProps`: of these members the server reads some; the graph sees all. */
const Forwarded = v.looseObject({
  /** How CopilotKit answers an interrupt without `resume`. */
  command: v.nullish(v.looseObject({ resume: v.optional(v.unknown()) })),
  on_disconnect: v.nullish(v.picklist(["cancel", "continue"])),
});

export const RunAgentInput = v.object({
  threadId: Id,
  runId: Id,
  parentRunId: v.nullish(v.string()),
  protocolVersion: v.nullish(v.string()),
  state: v.optional(v.unknown()),
  messages: v.array(AguiMessage),
  tools: v.nullish(v.array(JsonObject), []),
  context: v.nullish(v.array(JsonObject), []),
  forwardedProps: v.optional(v.unknown()),
  resume: v.nullish(v.pipe(v.array(AguiResume), v.maxLength(1000))),
});

export type RunAgentInput = v.InferOutput<typeof RunAgentInput>;
export type AguiMessage = v.InferOutput<typeof AguiMessage>;
export type AguiResume = v.InferOutput<typeof AguiResume>;

/** The members that the server reads; none of a value that is no object or has others of these names. */
export function readForwarded({ forwardedProps }: RunAgentInput): v.InferOutput<typeof Forwarded> {
  const result = v.safeParse(Forwarded, forwardedProps);
  return result.success ? result.output : {};
}
