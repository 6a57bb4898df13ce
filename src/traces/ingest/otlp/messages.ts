/** Inputs and outputs of a span: the attributes of several conventions, the first that is there counts. */
import { isObject } from "../../../lib/json.ts";
import { nestAttributes, parseValue, unflatten } from "./metadata.ts";
import type { Attributes, OtlpSpan } from "./decode.ts";

// Messages of several conventions in one form, that of the chat completions API: `role`, `content` (a text or a list of
// parts), `tool_calls` with `function.name` and `function.arguments`, and `tool_call_id` of an answer to one. Filters on
// `messages.content`, the page and readers of an export then need one form only.

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

type Reading = (span: OtlpSpan) => object | undefined;

const INPUTS: Reading[] = [
  // OpenLLMetry, and the LangSmith SDK's bridge.
  readWhole("gen_ai.prompt", "input"),
  readIndexed("gen_ai.prompt", "messages"),
  // OpenTelemetry: model calls, agents and workflows, tools, retrieval, memory.
  messages("gen_ai.input.messages", "gen_ai.system_instructions"),
  readWhole("gen_ai.tool.call.arguments", "input"),
  readWhole("gen_ai.retrieval.query.text", "query"),
  readWhole("gen_ai.memory.query.text", "query"),
  // OpenInference.
  readIndexed("llm.input_messages", "messages"),
  messages("llm.input_messages"),
  readNumbered("llm.prompts", "prompts", ({ prompt }) => readMember(prompt, "text")),
  rerank,
  readWhole("input.value", "input"),
  readNumbered("embedding.embeddings", "input", ({ embedding }) => readMember(embedding, "text")),
  // Vercel AI SDK.
  messages("ai.prompt.messages"),
  readAiSdkPrompt,
  readWhole("ai.toolCall.args", "input"),
  list("ai.values", "input"),
  readWhole("ai.value", "input"),
  // OpenLLMetry, Logfire.
  readWhole("traceloop.entity.input", "input"),
  readWhole("prompt", "input"),
  readWhole("tool_arguments", "input"),
  eventValue("gen_ai.content.prompt", "gen_ai.prompt", "input"),
  eventMessages(["gen_ai.system.message", "gen_ai.user.message"], "messages"),
];

const OUTPUTS: Reading[] = [
  readWhole("gen_ai.completion", "output"),
  readIndexed("gen_ai.completion", "messages"),
  messages("gen_ai.output.messages"),
  readWhole("gen_ai.tool.call.result", "output"),
  readWhole("gen_ai.retrieval.documents", "documents"),
  readWhole("gen_ai.memory.records", "records"),
  readIndexed("llm.output_messages", "messages"),
  messages("llm.output_messages"),
  readNumbered("llm.choices", "completions", ({ completion }) => readMember(completion, "text")),
  documents("retrieval.documents"),
  documents("reranker.output_documents"),
  readWhole("output.value", "output"),
  readNumbered("embedding.embeddings", "embeddings", ({ embedding }) => readMember(embedding, "vector")),
  readAiSdkResponse,
  readWhole("ai.toolCall.result", "output"),
  list("ai.embeddings", "embeddings"),
  readWhole("ai.embedding", "embedding"),
  list("ai.ranking", "ranking"),
  readWhole("traceloop.entity.output", "output"),
  readWhole("all_messages_events", "messages"),
  readWhole("tool_response", "output"),
  eventValue("gen_ai.content.completion", "gen_ai.completion", "output"),
  eventMessages(["gen_ai.choice", "gen_ai.assistant.message", "gen_ai.tool.message"], "messages"),
];

/** The span's inputs, by the first convention that has them. */
export function readInputs(span: OtlpSpan): object | undefined {
  return findFirst(INPUTS, span);
}

/** What came out of the span, likewise. */
export function readOutputs(span: OtlpSpan): object | undefined {
  return findFirst(OUTPUTS, span);
}

/** An event of OpenTelemetry that holds the messages instead of the span. */
const DETAILS = "gen_ai.client.inference.operation.details";

/** Events that became inputs, outputs or the error. */
export const CONTENT_EVENT =
  /^(exception|gen_ai\.(content\..*|(system|user|assistant|tool)\.message|choice|client\.inference\.operation\.details))$/;

function findFirst(readings: Reading[], span: OtlpSpan): object | undefined {
  const details = span.events.find(({ name }) => name === DETAILS)?.attributes;
  const read = details ? { ...span, attributes: { ...details, ...span.attributes } } : span;
  for (const reading of readings) {
    const value = reading(read);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** One attribute, JSON or plain text. */
function readWhole(name: string, key: string): Reading {
  return ({ attributes }) => asObject(attributes[name], key);
}

/** A list of JSON texts. */
function list(name: string, key: string): Reading {
  return ({ attributes }) => {
    const value = attributes[name];
    return Array.isArray(value) ? { [key]: value.map(parseValue) } : undefined;
  };
}

/** A list of messages, with the instructions before them if the convention keeps these apart. */
function messages(name: string, instructions?: string): Reading {
  return ({ attributes }) => {
    const value = parseValue(attributes[name]);
    const system = instructions === undefined ? undefined : parseValue(attributes[instructions]);
    if ((value ?? undefined) === undefined && (system ?? undefined) === undefined) return undefined;
    const before = (system ?? undefined) === undefined ? [] : [{ role: "system", content: system }];
    return { messages: toMessages(Array.isArray(value) || before.length > 0 ? [...before, ...toList(value)] : value) };
  };
}

function toList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : (value ?? undefined) === undefined ? [] : [value];
}

/** `prefix.0.role`, `prefix.0.message.content`, … as a list of messages. */
function readIndexed(prefix: string, key: string): Reading {
  return ({ attributes }) => {
    const items = unflatten(attributes, prefix).map((item) => {
      const { message, ...rest } = item;
      return isObject(message) ? { ...rest, ...message } : item;
    });
    return items.length > 0 ? { [key]: toMessages(items) } : undefined;
  };
}

/** `prefix.0.a.b`, … as a list of what `pick` finds in each object. */
function readNumbered(prefix: string, key: string, pick: (item: Attributes) => unknown): Reading {
  return ({ attributes }) => {
    const items = unflatten(attributes, prefix)
      .map(pick)
      .filter((item) => item !== undefined);
    return items.length > 0 ? { [key]: items } : undefined;
  };
}

function documents(prefix: string): Reading {
  return ({ attributes }) => {
    const items = documentsIn(attributes, prefix);
    return items.length > 0 ? { documents: items } : undefined;
  };
}

function documentsIn(attributes: Attributes, prefix: string): object[] {
  return unflatten(attributes, prefix).map(({ document }) => {
    const { content, metadata, ...rest } = isObject(document) ? document : {};
    return { page_content: content ?? "", metadata: parseValue(metadata) ?? {}, type: "Document", ...rest };
  });
}

function rerank({ attributes }: OtlpSpan): object | undefined {
  const query = attributes["reranker.query"];
  const items = documentsIn(attributes, "reranker.input_documents");
  return query === undefined && items.length === 0 ? undefined : { query, documents: items };
}

/** What the AI SDK was called with: `{system, prompt}`, or `{system, messages}`. */
function readAiSdkPrompt({ attributes }: OtlpSpan): object | undefined {
  const prompt = asObject(attributes["ai.prompt"], "input");
  if (!isObject(prompt) || !Array.isArray(prompt["messages"])) return prompt;
  const { system, messages: sent, ...rest } = prompt;
  const before = system === undefined ? [] : [{ role: "system", content: system }];
  return { messages: toMessages([...before, ...toList(sent)]), ...rest };
}

/** What the AI SDK says of an answer: an object, or text, reasoning and calls of tools. */
function readAiSdkResponse({ attributes }: OtlpSpan): object | undefined {
  const of = (name: string) => attributes[`ai.response.${name}`] ?? attributes[`ai.result.${name}`];
  const object = of("object");
  if (object !== undefined) return asObject(object, "output");
  const [said, reasoning, calls] = [of("text"), of("reasoning"), parseValue(of("toolCalls"))];
  if (said === undefined && calls === undefined) return undefined;
  const parts = [
    ...(reasoning === undefined ? [] : [{ type: "reasoning", text: reasoning }]),
    ...(said === undefined ? [] : [{ type: "text", text: said }]),
  ];
  return { messages: toMessages([{ role: "assistant", content: parts, tool_calls: calls }]) };
}

function eventValue(event: string, name: string, key: string): Reading {
  return ({ events }) => asObject(events.find((one) => one.name === event)?.attributes[name], key);
}

function eventMessages(names: string[], key: string): Reading {
  return ({ events }) => {
    const found = events.filter(({ name }) => names.includes(name));
    if (found.length === 0) return undefined;
    const items = found.map(({ name, attributes }) => {
      const { message, ...rest } = nestAttributes(attributes);
      const role = /^gen_ai\.(\w+)\.message$/.exec(name)?.[1] ?? "assistant";
      return { role, ...rest, ...(isObject(message) ? message : {}) };
    });
    return { [key]: toMessages(items) };
  };
}

function readMember(value: unknown, key: string): unknown {
  return isObject(value) ? value[key] : undefined;
}

function asObject(given: unknown, key: string): object | undefined {
  const value = parseValue(given);
  if (value === undefined || value === null) return undefined;
  return isObject(value) ? value : { [key]: value };
}
