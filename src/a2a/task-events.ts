/** Events of a graph for A2A callers, sent with its writer: `config.writer({a2a: {...}})`. See docs/a2a.md. */
import * as v from "valibot";
import { isObject, JsonObject } from "../lib/json.ts";
import { parse } from "../http/validate.ts";
import { checkCustom } from "../threads/log/events.ts";
import type { Part } from "../protocols/a2a/types.ts";

const OwnPart = v.pipe(
  v.object({
    text: v.optional(v.string()),
    raw: v.optional(v.string()),
    url: v.optional(v.string()),
    data: v.optional(v.unknown()),
    filename: v.optional(v.string()),
    mediaType: v.optional(v.string()),
    metadata: v.optional(JsonObject),
  }),
  v.check(
    ({ text, raw, url, data }) => [text, raw, url, data].filter((one) => one !== undefined).length === 1,
    "must hold exactly one of: text, raw, url, data",
  ),
  v.transform((part): Part => part),
);
const Parts = v.pipe(v.array(OwnPart), v.minLength(1, "must hold at least one part"));
const Strings = v.optional(v.array(v.string()));

const Artifact = v.object({
  artifactId: v.optional(v.string()),
  name: v.optional(v.string()),
  description: v.optional(v.string()),
  parts: Parts,
  metadata: v.optional(JsonObject),
  extensions: Strings,
  append: v.optional(v.boolean(), false),
  lastChunk: v.optional(v.boolean()),
});
const Text = v.pipe(
  v.string(),
  v.transform((text): Part[] => [{ text }]),
);
const Status = v.object({
  state: v.picklist(["working", "input-required", "auth-required", "completed", "failed", "rejected"]),
  message: v.optional(v.union([Text, Parts], "must be a text or a list of parts")),
  metadata: v.optional(JsonObject),
});
const Message = v.object({
  parts: Parts,
  metadata: v.optional(JsonObject),
  extensions: Strings,
  referenceTaskIds: Strings,
});

export type TaskEvent =
  | { artifact: v.InferOutput<typeof Artifact> }
  | { status: v.InferOutput<typeof Status> }
  | { message: v.InferOutput<typeof Message> };

/** The event for A2A callers; throws a 422 that says what is wrong with it. */
function readTask(a2a: unknown): TaskEvent {
  const given = isObject(a2a) ? a2a : {};
  if ("artifact" in given) return { artifact: parse(Artifact, given.artifact, "a2a.artifact") };
  if ("status" in given) return { status: parse(Status, given.status, "a2a.status") };
  if ("message" in given) return { message: parse(Message, given.message, "a2a.message") };
  throw new Error("Invalid a2a: must be an object with artifact, status or message");
}

const isOurs = (data: unknown): data is { a2a: unknown } => isObject(data) && "a2a" in data;

// The error is thrown in the node that writes the event.
checkCustom((data) => {
  if (isOurs(data)) readTask(data.a2a);
});

/**
 * The content of a custom event for A2A callers. Undefined for other events, and for invalid events stored before this
 * check existed.
 */
export function readTaskEvent(data: unknown): TaskEvent | undefined {
  if (!isOurs(data)) return undefined;
  try {
    return readTask(data.a2a);
  } catch {
    return undefined;
  }
}
