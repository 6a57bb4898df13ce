/** The shape of a call of the playground. */
import * as v from "valibot";
import { maxBytes, METADATA_BYTES } from "../../lib/bytes.ts";
import { optional } from "../../http/shapes.ts";
import { JsonObject } from "../../lib/json.ts";

/** Bytes of a whole call as JSON, with its images. */
export const CALL_BYTES = 4 * 1024 * 1024;
export const MAX_MESSAGES = 500;
export const MAX_TOOLS = 128;

const text = (most: number) => v.pipe(v.string(), v.maxLength(most, `must be at most ${most} characters`));
const name = v.pipe(text(200), v.minLength(1));
const address = v.pipe(text(2_000), v.url("must be a URL"));
const number = (least: number, most: number) => optional(v.pipe(v.number(), v.minValue(least), v.maxValue(most)));
const whole = (least: number, most: number) =>
  optional(v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(most)));

const Model = v.variant("provider", [
  v.strictObject({ provider: v.literal("offline"), model: optional(name) }),
  v.strictObject({ provider: v.literal("workers-ai"), model: name }),
  v.strictObject({
    provider: v.literal("openai"),
    model: name,
    base_url: optional(address),
    api_key: optional(v.pipe(text(500), v.regex(/^[\x21-\x7e]+$/, "must have no spaces and no line breaks"))),
  }),
]);
export type PlaygroundModel = v.InferOutput<typeof Model>;

const ModelSettings = v.strictObject({
  temperature: number(0, 2),
  top_p: number(0, 1),
  max_tokens: whole(1, 1_000_000),
  max_completion_tokens: whole(1, 1_000_000),
  presence_penalty: number(-2, 2),
  frequency_penalty: number(-2, 2),
  seed: whole(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  stop: optional(v.pipe(v.array(text(200)), v.maxLength(8))),
  reasoning_effort: optional(text(20)),
  tool_choice: optional(v.union([text(200), JsonObject])),
  parallel_tool_calls: optional(v.boolean()),
  response_format: optional(v.pipe(JsonObject, maxBytes(METADATA_BYTES))),
});
export type ModelSettings = v.InferOutput<typeof ModelSettings>;

const Url = v.pipe(
  v.string(),
  v.regex(/^(?:https:\/\/|data:image\/)/, "must be an https URL or a data: URL of an image"),
);
const Part = v.variant("type", [
  v.object({ type: v.literal("text"), text: v.string() }),
  v.object({ type: v.literal("image_url"), image_url: v.object({ url: Url }) }),
]);

export const PromptMessage = v.object({
  role: v.picklist(["system", "human", "ai", "tool", "placeholder"]),
  content: v.union([v.string(), v.pipe(v.array(Part), v.maxLength(100))]),
  tool_calls: optional(v.pipe(v.array(v.object({ id: text(200), name, args: JsonObject })), v.maxLength(100))),
  tool_call_id: optional(text(200)),
});

const Tool = v.looseObject({
  type: v.literal("function"),
  function: v.looseObject({ name, description: optional(v.string()), parameters: optional(JsonObject) }),
});

export const CallBody = v.pipe(
  v.strictObject({
    model: Model,
    settings: optional(ModelSettings),
    messages: optional(v.pipe(v.array(PromptMessage), v.maxLength(MAX_MESSAGES))),
    prompt: optional(v.strictObject({ name, commit: optional(name) })),
    template_format: optional(v.picklist(["none", "f-string", "mustache"])),
    variables: optional(JsonObject),
    tools: optional(v.pipe(v.array(Tool), v.maxLength(MAX_TOOLS))),
  }),
  v.check(
    ({ messages, prompt }) => (prompt === undefined) !== (messages === undefined || messages.length === 0),
    "give messages or a prompt, and not both",
  ),
  maxBytes(CALL_BYTES),
);
export type CallBody = v.InferOutput<typeof CallBody>;
