/** Messages of AG-UI as LangGraph's clients write them, and messages of a state as AG-UI shows them. */
import { type Json, isObject, parseBoundedJson } from "../../lib/json.ts";
import type { AguiMessage } from "./schema.ts";

const TYPES: Record<string, string> = {
  user: "human",
  assistant: "ai",
  tool: "tool",
  system: "system",
  developer: "system",
};
/** Names of media: in AG-UI, and as LangChain's content blocks. */
const MEDIA: [part: string, block: string][] = [
  ["image", "image"],
  ["audio", "audio"],
  ["video", "video"],
  ["document", "file"],
];

/** The message for a graph's input; undefined for one that no model reads. */
export function graphMessage({ id, role, name, content, toolCalls, toolCallId, error }: AguiMessage): Json | undefined {
  const type = Object.hasOwn(TYPES, role) ? TYPES[role] : undefined;
  if (!type) return undefined;
  const body = {
    type,
    id,
    content: Array.isArray(content) ? content.map(block) : (content ?? ""),
    ...(name && { name }),
  };
  if (type === "tool") return { ...body, tool_call_id: toolCallId ?? "", ...(error && { status: "error" }) };
  if (type !== "ai") return body;
  const calls = (toolCalls ?? []).map((call) => {
    const args = parseBoundedJson(call.function.arguments || "{}");
    return { id: call.id, name: call.function.name, args: isObject(args) ? args : {}, type: "tool_call" };
  });
  return { ...body, tool_calls: calls };
}

/** The member of a block that holds its source, by the kind of source. */
const SOURCES = new Map<unknown, string>([
  ["data", "data"],
  ["url", "url"],
  ["file", "fileId"],
]);

function block(part: Json): Json {
  const [, type] = MEDIA.find(([name]) => name === part.type) ?? [];
  const source = part.source;
  if (!type || !isObject(source)) return part;
  const { value, mimeType } = source;
  const where = SOURCES.get(source.type);
  return where ? { type, [where]: value, ...(typeof mimeType === "string" && { mimeType }) } : part;
}

/** The messages of a state. What is no message of a person, an agent, a tool or a system is left out. */
export function toWireMessages(messages: unknown): Json[] {
  return Array.isArray(messages) ? messages.filter(isObject).flatMap(toWire) : [];
}

function toWire(message: Json, place: number): Json[] {
  const { type, content, tool_calls, tool_call_id, status, name } = message;
  const common = {
    id: typeof message.id === "string" && message.id !== "" ? message.id : `message-${place}`,
    ...(typeof name === "string" && type !== "tool" && { name }),
  };
  switch (type) {
    case "human":
      return [{ ...common, role: "user", content: toWireContent(content) }];
    case "system":
      return [{ ...common, role: "system", content: readText(content) }];
    case "tool": {
      const error = status === "error" ? { error: readText(content) } : {};
      return [
        { ...common, role: "tool", content: toolResultText(content), toolCallId: asText(tool_call_id), ...error },
      ];
    }
    case "ai": {
      const calls = Array.isArray(tool_calls) ? tool_calls.filter(isObject).map(toWireCall) : [];
      return [
        { ...common, role: "assistant", content: readText(content), ...(calls.length > 0 && { toolCalls: calls }) },
      ];
    }
    default:
      return [];
  }
}

/** The content of a message of a graph as a client has it. */
export const contentOf = ({ type, content, tool_calls }: Json): unknown => {
  const calls = Array.isArray(tool_calls) ? tool_calls.filter(isObject).map(toWireCall) : [];
  return type === "human" ? toWireContent(content) : [readText(content), ...(type === "ai" ? calls : [])];
};

const asText = (value: unknown): string => (typeof value === "string" ? value : "");

function toWireCall({ id, name, args }: Json): Json {
  return {
    id: asText(id),
    type: "function",
    function: { name: String(name), arguments: JSON.stringify(args ?? {}) },
  };
}

function readText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((one) => (isObject(one) && one.type === "text" && typeof one.text === "string" ? one.text : ""))
    .join("");
}

/** What a tool returned, as text: parts that are no text are kept as JSON. */
function toolResultText(content: unknown): string {
  const isText = (one: unknown) => isObject(one) && one.type === "text";
  if (typeof content === "string" || (Array.isArray(content) && content.every(isText))) return readText(content);
  return JSON.stringify(content ?? "");
}

function toWireContent(content: unknown): string | Json[] {
  if (!Array.isArray(content)) return readText(content);
  const parts = content.filter(isObject).flatMap((one) => toWirePart(one));
  return parts.every(({ type }) => type === "text") ? readText(parts) : parts;
}

function toWirePart(one: Json): Json[] {
  if (one.type === "text") return typeof one.text === "string" ? [{ type: "text", text: one.text }] : [];
  const [type] = MEDIA.find(([, name]) => name === one.type) ?? [];
  if (!type) return [];
  const mimeType = typeof one.mimeType === "string" ? { mimeType: one.mimeType } : {};
  if (typeof one.url === "string") return [{ type, source: { type: "url", value: one.url, ...mimeType } }];
  if (typeof one.fileId === "string") return [{ type, source: { type: "file", value: one.fileId, ...mimeType } }];
  if (typeof one.data !== "string") return [];
  return [{ type, source: { type: "data", value: one.data, mimeType: "application/octet-stream", ...mimeType } }];
}
