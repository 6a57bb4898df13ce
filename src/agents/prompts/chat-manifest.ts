/** The manifest of a prompt as messages, and back: LangChain's serialized `ChatPromptTemplate`. The page uses it, too. */
import {
  type TemplateFormat,
  type TemplatePart,
  type TemplateMessage,
  type ToolCall,
  variablesIn,
} from "./template.ts";
import { readRole } from "./role.ts";

type Raw = Record<string, unknown>;

/** The model that a prompt was committed with. */
export interface ModelUsed {
  /** LangChain's class, such as ChatOpenAI. */
  provider: string;
  settings: Raw;
}

export interface ChatPrompt {
  messages: TemplateMessage[];
  format: TemplateFormat;
  tools: Raw[];
  model?: ModelUsed;
}

const isRaw = (value: unknown): value is Raw => typeof value === "object" && value !== null && !Array.isArray(value);
const kwargsIn = (value: unknown): Raw => (isRaw(value) && isRaw(value["kwargs"]) ? value["kwargs"] : {});
const listIn = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const textIn = (value: unknown): string => (typeof value === "string" ? value : "");

function className(value: unknown): string {
  const last = isRaw(value) ? listIn(value["id"]).at(-1) : undefined;
  return textIn(last);
}

/** The messages of a commit; undefined where the manifest is of another kind. */
export function readPrompt(manifest: unknown): ChatPrompt | undefined {
  const kind = className(manifest);
  const kwargs = kwargsIn(manifest);
  if (kind === "RunnableSequence") {
    const prompt = readPrompt(kwargs["first"]);
    return prompt && { ...prompt, ...modelIn(kwargs["last"]) };
  }
  if (kind === "PromptTemplate")
    return {
      messages: [{ role: "human", content: textIn(kwargs["template"]) }],
      format: formatIn(manifest) ?? "f-string",
      tools: [],
    };
  if (kind !== "ChatPromptTemplate" && kind !== "StructuredPrompt") return undefined;
  const given = listIn(kwargs["messages"] ?? kwargs["prompt_messages"]);
  const format = given.map(formatIn).find((one) => one !== undefined) ?? "none";
  const messages = given.map((one) => readMessage(one, format));
  return messages.every((one) => one !== undefined) ? { messages, format, tools: [] } : undefined;
}

function modelIn(last: unknown): { tools: Raw[]; model?: ModelUsed } {
  const isBound = className(last) === "RunnableBinding";
  const { bound, kwargs: more } = kwargsIn(last);
  const model = isBound ? bound : last;
  const tools = isBound && isRaw(more) ? listIn(more["tools"]).filter(isRaw) : [];
  return {
    tools,
    ...(className(model) !== "" && { model: { provider: className(model), settings: kwargsIn(model) } }),
  };
}

/** The format of the first template in it. Placeholders and whole messages have none. */
function formatIn(value: unknown): TemplateFormat | undefined {
  const kwargs = kwargsIn(value);
  if (className(value).endsWith("MessagePromptTemplate")) {
    const { prompt } = kwargs;
    return Array.isArray(prompt) ? prompt.map(formatIn).find((one) => one !== undefined) : formatIn(prompt);
  }
  if (!className(value).endsWith("PromptTemplate")) return undefined;
  return kwargs["template_format"] === "mustache" ? "mustache" : "f-string";
}

function readMessage(value: unknown, format: TemplateFormat): TemplateMessage | undefined {
  const kind = className(value);
  const kwargs = kwargsIn(value);
  if (kind === "MessagesPlaceholder") return { role: "placeholder", content: textIn(kwargs["variable_name"]) };
  const [, named = "", suffix] = /^(\w*?)Message(PromptTemplate|Chunk)?$/.exec(kind) ?? [];
  const role = readRole(named) ?? readRole(kwargs["role"]);
  if (role === undefined) return undefined;
  if (suffix === "PromptTemplate") {
    const { prompt } = kwargs;
    return { role, content: Array.isArray(prompt) ? prompt.flatMap(readPart) : textIn(kwargsIn(prompt)["template"]) };
  }
  const calls = listIn(kwargs["tool_calls"]).filter(isRaw).map(readCall);
  const literal = (text: string) => (format === "f-string" ? text.replaceAll(/[{}]/g, "$&$&") : text);
  const given = kwargs["content"];
  const content = mapTexts(Array.isArray(given) ? given.flatMap(readContent) : textIn(given), literal);
  return {
    role,
    content,
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(role === "tool" && { tool_call_id: textIn(kwargs["tool_call_id"]) }),
  };
}

/** A whole message has no variables: its braces are those of a template in the message that is shown. */
const mapTexts = (content: string | TemplatePart[], change: (text: string) => string): string | TemplatePart[] =>
  typeof content === "string"
    ? change(content)
    : content.map((part) => (part.type === "text" ? { ...part, text: change(part.text) } : part));

const readCall = ({ id, name, args }: Raw): ToolCall => ({
  id: textIn(id),
  name: textIn(name),
  args: isRaw(args) ? args : {},
});

function readPart(value: unknown): TemplatePart[] {
  const { template } = kwargsIn(value);
  if (className(value) === "PromptTemplate") return [{ type: "text", text: textIn(template) }];
  if (!isRaw(template)) return [];
  // An image, or a part of any kind (DictPromptTemplate).
  return "url" in template
    ? [{ type: "image_url", image_url: { url: textIn(template["url"]) } }]
    : readContent(template);
}

function readContent(value: unknown): TemplatePart[] {
  if (typeof value === "string") return [{ type: "text", text: value }];
  if (!isRaw(value)) return [];
  if (value["type"] === "text") return [{ type: "text", text: textIn(value["text"]) }];
  const { image_url: image } = value;
  const url = isRaw(image) ? textIn(image["url"]) : textIn(image);
  return url === "" ? [] : [{ type: "image_url", image_url: { url } }];
}

const constructor = (id: string[], kwargs: Raw): Raw => ({ lc: 1, type: "constructor", id, kwargs });
const prompts = (module: string, name: string) => ["langchain_core", "prompts", module, name];

const NAMES = { system: "System", human: "Human", ai: "AI", tool: "Tool" };

/** The manifest of a prompt, as `pushPrompt` of the SDKs makes it: with its model when one is given, else alone. */
export function writePrompt({ messages, format, tools, model }: ChatPrompt): Raw {
  const prompt = constructor(prompts("chat", "ChatPromptTemplate"), {
    input_variables: variablesIn(messages, format).map(({ name }) => name),
    messages: messages.map((message) => writeMessage(message, format)),
  });
  if (!model) return prompt;
  const own = constructor(["langchain", "chat_models", "openai", "ChatOpenAI"], model.settings);
  const runnables = (name: string) => ["langchain_core", "runnables", name];
  const last =
    tools.length === 0 ? own : constructor(runnables("RunnableBinding"), { bound: own, kwargs: { tools }, config: {} });
  return constructor(runnables("RunnableSequence"), { first: prompt, middle: [], last });
}

function writeMessage({ role, content, tool_calls, tool_call_id }: TemplateMessage, format: TemplateFormat): Raw {
  if (role === "placeholder")
    return constructor(prompts("chat", "MessagesPlaceholder"), {
      variable_name: textIn(content).trim(),
      optional: true,
    });
  const isWhole = format === "none" || role === "tool" || (tool_calls?.length ?? 0) > 0;
  if (isWhole)
    return constructor(["langchain_core", "messages", `${NAMES[role]}Message`], {
      content: mapTexts(content, (text) =>
        format === "f-string" ? text.replaceAll(/\{\{|\}\}/g, (two) => two.slice(1)) : text,
      ),
      ...(tool_calls &&
        tool_calls.length > 0 && { tool_calls: tool_calls.map((call) => ({ ...call, type: "tool_call" })) }),
      ...(role === "tool" && { tool_call_id }),
    });
  const template = (text: string) =>
    constructor(prompts("prompt", "PromptTemplate"), {
      input_variables: variablesIn([{ role, content: text }], format).map(({ name }) => name),
      template: text,
      template_format: format,
    });
  const image = (url: string) =>
    constructor(prompts("image", "ImagePromptTemplate"), {
      input_variables: url.startsWith("data:")
        ? []
        : variablesIn([{ role, content: url }], format).map(({ name }) => name),
      template: { url },
      template_format: format,
    });
  const prompt =
    typeof content === "string"
      ? template(content)
      : content.map((part) => (part.type === "text" ? template(part.text) : image(part.image_url.url)));
  return constructor(prompts("chat", `${NAMES[role]}MessagePromptTemplate`), { prompt });
}
