/** A run of a model as messages, tools, a model and its settings, in all dialects of traces. */
import { type TemplatePart, type TemplateMessage, type ToolCall } from "../../../../src/agents/prompts/template.ts";
import { readRole } from "../../../../src/agents/prompts/role.ts";
import type { OpenedRun } from "./handover.ts";
import { type Column, newColumn, newId, type Play, type Provider } from "./play.ts";
import { FIELDS, sentMessages, mergeSettings, parseTools } from "./request.ts";
import type { ChatPrompt } from "../../../../src/agents/prompts/chat-manifest.ts";

type Raw = Record<string, unknown>;

const isRaw = (value: unknown): value is Raw => typeof value === "object" && value !== null && !Array.isArray(value);
const listIn = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const textIn = (value: unknown): string => (typeof value === "string" ? value : "");
const rawIn = (value: unknown): Raw => (isRaw(value) ? value : {});

export function playFromRun({ id, name, inputs, extra }: OpenedRun): Play {
  const params = rawIn(extra.invocation_params);
  const given = rawIn(inputs);
  const tools =
    [params["tools"], params["functions"], given["tools"]].map(listIn).find((list) => list.length > 0) ?? [];
  return {
    messages: messagesIn(given).map((message) => ({ ...message, id: newId() })),
    format: "none",
    variables: {},
    tools: tools.length === 0 ? "" : JSON.stringify(tools.filter(isRaw).map(toolIn), null, 2),
    columns: [columnFor(rawIn(extra.metadata), params)],
    from: { kind: "run", id, name },
  };
}

function messagesIn(inputs: Raw): TemplateMessage[] {
  const { messages, prompts, prompt, system } = inputs;
  const list = listIn(messages);
  // LangChain calls a model with a batch of conversations.
  const [first] = list;
  const isBatch = Array.isArray(first) && (first.length !== 2 || typeof first[0] !== "string");
  const said = (isBatch ? (first as unknown[]) : list).flatMap(messageIn);
  if (said.length > 0) {
    const instructions = textOfContent(system);
    return instructions === "" ? said : [{ role: "system", content: instructions }, ...said];
  }
  const text = textIn(listIn(prompts)[0]) || textIn(prompt) || textIn(inputs["input"]);
  return [{ role: "human", content: text || JSON.stringify(inputs, null, 2) }];
}

function messageIn(raw: unknown): TemplateMessage[] {
  if (Array.isArray(raw) && typeof raw[0] === "string")
    return [{ role: readRole(raw[0]) ?? "human", content: textOfContent(raw[1]) }];
  if (!isRaw(raw)) return [];
  const kind = textIn(listIn(raw["id"]).at(-1));
  const fields = isRaw(raw["kwargs"]) ? raw["kwargs"] : raw;
  const role = readRole(kind || raw["role"] || raw["type"]) ?? readRole(fields["role"]) ?? "human";
  const blocks = listIn(fields["content"]).filter(isRaw);
  const results = blocks
    .filter(({ type }) => type === "tool_result")
    .map((block): TemplateMessage => ({
      role: "tool",
      content: textOfContent(block["content"]),
      tool_call_id: textIn(block["tool_use_id"]),
    }));
  const calls = callsIn(fields, blocks);
  const content = contentIn(fields["content"]);
  const isEmpty = content.length === 0 && calls.length === 0;
  if (results.length > 0) return isEmpty ? results : [...results, { role, content }];
  return [
    {
      role,
      content,
      ...(calls.length > 0 && { tool_calls: calls }),
      ...(role === "tool" && { tool_call_id: textIn(fields["tool_call_id"]) }),
    },
  ];
}

function callsIn(fields: Raw, blocks: Raw[]): ToolCall[] {
  const given = listIn(fields["tool_calls"] ?? rawIn(fields["additional_kwargs"])["tool_calls"]).filter(isRaw);
  const all = given.length > 0 ? given : blocks.filter(({ type }) => type === "tool_use");
  return all.map((call) => {
    const { name, arguments: text, args = call["input"] } = isRaw(call["function"]) ? call["function"] : call;
    return { id: textIn(call["id"]), name: textIn(name), args: typeof text === "string" ? argsIn(text) : rawIn(args) };
  });
}

function argsIn(text: string): Raw {
  try {
    return rawIn(JSON.parse(text));
  } catch {
    return { input: text };
  }
}

/** Text alone is a text; with images it is a list of parts. */
function contentIn(content: unknown): string | TemplatePart[] {
  if (!Array.isArray(content)) return textIn(content);
  const parts = content.flatMap(partIn);
  return parts.every((part) => part.type === "text") ? parts.map(({ text }) => text).join("") : parts;
}

const textOfContent = (content: unknown): string => {
  const read = contentIn(content);
  return typeof read === "string" ? read : read.map((part) => (part.type === "text" ? part.text : "")).join("");
};

function partIn(raw: unknown): TemplatePart[] {
  if (typeof raw === "string") return [{ type: "text", text: raw }];
  if (!isRaw(raw)) return [];
  if (raw["type"] === "text") return [{ type: "text", text: textIn(raw["text"]) }];
  const url = urlIn(raw);
  return url === "" ? [] : [{ type: "image_url", image_url: { url } }];
}

/** OpenAI's `image_url`, Anthropic's `source`, and LangChain's `url`, `base64` or `data`. */
function urlIn(raw: Raw): string {
  const { image_url: image, source } = raw;
  if (image !== undefined) return isRaw(image) ? textIn(image["url"]) : textIn(image);
  if (raw["type"] !== "image") return "";
  const from = isRaw(source) ? source : raw;
  const data = textIn(from["data"]) || textIn(from["base64"]);
  if (data === "") return textIn(from["url"]);
  const mime = textIn(from["media_type"]) || textIn(from["mime_type"]) || "image/png";
  return data.startsWith("data:") ? data : `data:${mime};base64,${data}`;
}

/** In OpenAI's form; Anthropic's tools have their schema as `input_schema`. */
function toolIn(tool: Raw): Raw {
  if (isRaw(tool["function"])) return tool;
  const { name, description, parameters = tool["input_schema"] } = tool;
  return { type: "function", function: { name, ...(description !== undefined && { description }), parameters } };
}

/** The members of a call besides its settings. */
const APART = new Set([
  "model",
  "model_name",
  "messages",
  "tools",
  "functions",
  "stream",
  "stream_options",
  "_type",
  "n",
]);
/** The settings that the playground sends (docs/playground.md). */
const SENT = new Set([
  "max_completion_tokens",
  "presence_penalty",
  "frequency_penalty",
  "seed",
  "stop",
  "reasoning_effort",
  "tool_choice",
  "parallel_tool_calls",
  "response_format",
]);

function columnFor(metadata: Raw, params: Raw): Column {
  const model = textIn(metadata["ls_model_name"]) || textIn(params["model"]) || textIn(params["model_name"]);
  const fields = FIELDS.map(([name]) => [name, params[name] ?? metadata[`ls_${name}`]] as const);
  const settings = fields.flatMap(([name, value]) =>
    typeof value === "number" ? [[name, String(value)] as const] : [],
  );
  const more = Object.entries(params).filter(([name, value]) => !APART.has(name) && SENT.has(name) && value != null);
  return newColumn({
    provider: providerFor(textIn(metadata["ls_provider"]), model),
    model,
    settings: Object.fromEntries(settings),
    more: more.length === 0 ? "" : JSON.stringify(Object.fromEntries(more), null, 2),
  });
}

/** Undefined where the trace names no model: the deployment's own one is chosen. */
function providerFor(provider: string, model: string): Provider | undefined {
  if (/offline/i.test(provider) || model === "weir-offline") return "offline";
  if (model === "") return undefined;
  return model.startsWith("@cf/") ? "workers-ai" : "openai";
}

/** A commit of a prompt in the playground, and the messages of the playground as a prompt. */
export function playFromPrompt(
  { messages, format, tools, model }: ChatPrompt,
  { name, hash }: { name: string; hash: string },
): Play {
  return {
    messages: messages.map((message) => ({ ...message, id: newId() })),
    format,
    variables: {},
    tools: tools.length === 0 ? "" : JSON.stringify(tools, null, 2),
    columns: [createColumn(model?.settings ?? {})],
    from: { kind: "prompt", name, hash },
  };
}

function createColumn(settings: Record<string, unknown>): Column {
  const model = settings["model"] ?? settings["model_name"];
  if (typeof model !== "string") return newColumn();
  const typed = FIELDS.flatMap(([name]) => {
    const value = settings[name];
    return typeof value === "number" ? [[name, String(value)] as const] : [];
  });
  const isOffline = model === "weir-offline";
  return newColumn({
    provider: isOffline ? "offline" : model.startsWith("@cf/") ? "workers-ai" : "openai",
    model,
    settings: Object.fromEntries(typed),
  });
}

/** With the model and the tools of `column`, where one is given. @throws Error, TemplateFault */
export function toPrompt(play: Play, column: Column | undefined): ChatPrompt {
  const prompt = { messages: sentMessages(play), format: play.format };
  if (!column) return { ...prompt, tools: [] };
  const settings = { model: column.model, ...mergeSettings(column) };
  return { ...prompt, tools: parseTools(play), model: { provider: "ChatOpenAI", settings } };
}
