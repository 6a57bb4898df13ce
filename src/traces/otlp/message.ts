/**
 * Messages of several conventions in one form, that of the chat completions API: `role`, `content` (a text or a list of
 * parts), `tool_calls` with `function.name` and `function.arguments`, and `tool_call_id` of an answer to one. Filters on
 * `messages.content`, the page and readers of an export then need one form only.
 */
import { isObject } from "../../lib/json.ts";

type Message = Record<string, unknown>;

/** The parts of a message, and the tool messages that some conventions write as parts of another message. */
interface Parts {
  content: unknown[];
  calls: object[];
  answers: Message[];
}

/** The messages in a list of messages of any convention. Other values are returned as they are. */
export function toMessages(value: unknown): unknown {
  return Array.isArray(value) ? value.flatMap((one) => (isObject(one) ? splitMessage(one) : [one])) : value;
}

/** A message, and the answers of tools that are parts of it as messages of their own. */
function splitMessage(given: Message): Message[] {
  const { parts: listed, contents, content: sent, tool_calls: calls, role = "assistant", ...rest } = given;
  // OpenTelemetry has `parts`, OpenInference `contents`, and the AI SDK a list in `content`.
  const list = listed ?? contents ?? sent;
  const found = Array.isArray(list) ? sortParts(list) : { content: list, calls: [], answers: [] };
  const all = [...(Array.isArray(calls) ? calls.map(toToolCall) : []), ...found.calls];
  const { content } = found;
  const isSaid = Array.isArray(content) ? content.length > 0 : content !== undefined;
  if (!isSaid && all.length === 0 && found.answers.length > 0) return found.answers.map((one) => ({ ...rest, ...one }));
  const message = { role, content: toContent(content), ...rest, ...(all.length > 0 ? { tool_calls: all } : {}) };
  return [message, ...found.answers];
}

/** One text part is a plain text. No part is an empty text. */
function toContent(content: unknown): unknown {
  if (content === undefined) return "";
  if (!Array.isArray(content)) return content;
  const [first] = content as unknown[];
  if (content.length === 1 && isObject(first) && first["type"] === "text") return first["text"];
  return content.length === 0 ? "" : content;
}

function sortParts(list: unknown[]): Parts {
  const parts: Parts = { content: [], calls: [], answers: [] };
  for (const one of list) {
    const part = isObject(one) && isObject(one["message_content"]) ? one["message_content"] : one;
    if (!isObject(part)) parts.content.push(part);
    else if (part["type"] === "tool_call" || part["type"] === "tool-call") parts.calls.push(toToolCall(part));
    else if (part["type"] === "tool_call_response" || part["type"] === "tool-result")
      parts.answers.push(toToolMessage(part));
    else parts.content.push(toContentBlock(part));
  }
  return parts;
}

/** A text or a reasoning part has its text in `text` or `reasoning`, as in LangChain's content blocks. */
function toContentBlock(part: Message): Message {
  const { type, content, text, ...rest } = part;
  if (type === "text") return { type, text: text ?? content, ...rest };
  if (type === "reasoning") return { type, reasoning: text ?? content, ...rest };
  const image = type === "image" && isObject(part["image"]) ? part["image"]["image"] : undefined;
  if (isObject(image) && "url" in image) return { type: "image_url", image_url: { url: image["url"] } };
  return part;
}

function toToolCall(given: unknown): object {
  const call = isObject(given) && isObject(given["tool_call"]) ? given["tool_call"] : given;
  if (!isObject(call) || isObject(call["function"])) return isObject(call) ? { type: "function", ...call } : {};
  const name = call["name"] ?? call["toolName"];
  const given_arguments = call["arguments"] ?? call["input"] ?? call["args"];
  return {
    id: call["id"] ?? call["toolCallId"],
    type: "function",
    function: { name, arguments: json(given_arguments) },
  };
}

function toToolMessage(part: Message): Message {
  const output = part["response"] ?? part["result"] ?? part["output"];
  // The AI SDK wraps what a tool returned: `{type: "json" | "text", value}`.
  const isWrapped = part["type"] === "tool-result" && isObject(output) && "value" in output;
  const name = part["name"] ?? part["toolName"];
  return {
    role: "tool",
    content: json(isWrapped ? output["value"] : output),
    tool_call_id: part["id"] ?? part["toolCallId"],
    ...(name === undefined ? {} : { name }),
  };
}

function json(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
