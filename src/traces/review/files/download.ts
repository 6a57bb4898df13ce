/** A dataset as a file: what a line is in each format. */
import { isObject } from "../../../lib/json.ts";
import { type Message, messagesIn } from "../../query/messages/said.ts";
import { csvLine } from "../../datasets/files/csv.ts";

/** An example with its bodies. */
export interface WholeExample {
  id: string;
  name: string | null;
  inputs: Record<string, unknown>;
  outputs: Record<string, unknown> | null;
  metadata: Record<string, unknown>;
}

/** Messages in OpenAI's form, by the type that LangChain gives them. */
const ROLES: Record<string, string> = {
  human: "user",
  ai: "assistant",
  aimessagechunk: "assistant",
  chat: "user",
  function: "tool",
};

/** One line of JSON an example, which an upload takes again. */
export function jsonLine({ id, name, inputs, outputs, metadata }: WholeExample): string {
  return line({ id, ...(name !== null && { name }), inputs, outputs, metadata });
}

/** One line of JSON: OpenAI's evals read `input` and `ideal`. */
export function evalLine(example: WholeExample): string {
  return line({ input: conversation(example.inputs, "user"), ideal: answerIn(example.outputs) });
}

/** One line of JSON: OpenAI's fine-tuning reads one conversation a line. */
export function tuningLine({ inputs, outputs }: WholeExample): string {
  const messages = [...conversation(inputs, "user"), ...(outputs ? conversation(outputs, "assistant") : [])];
  const tools = inputs["tools"] ?? inputs["functions"];
  return line({ messages, ...(Array.isArray(tools) && { tools }) });
}

const line = (value: object): string => `${JSON.stringify(value)}\n`;

/** The messages of a body; one of the role with its text when it is no conversation, and none for an empty body. */
function conversation(body: Record<string, unknown>, role: string): object[] {
  const messages = messagesIn(conversationIn(body));
  if (messages.length > 0) return messages.map(openAiMessage);
  if (Object.keys(body).length === 0) return [];
  return [{ role, content: bodyText(body) }];
}

/** The SDKs keep a list of messages as `input`, and one message as `output`. */
function conversationIn(body: Record<string, unknown>): Record<string, unknown> {
  const { input, output } = body;
  if (Array.isArray(input)) return { messages: input.map(storedMessage) };
  if (isObject(output)) return { messages: [storedMessage(output)] };
  return body;
}

/** `createChatExample` stores messages as `{type, data}`. */
function storedMessage(message: unknown): unknown {
  if (!isObject(message) || !isObject(message["data"])) return message;
  return { type: message["type"], ...message["data"] };
}

function openAiMessage({ role, type, content, name, tool_calls, tool_call_id, ...rest }: Message): object {
  const kind = typeof role === "string" ? role : typeof type === "string" ? type : "user";
  const extra = isObject(rest["additional_kwargs"]) ? rest["additional_kwargs"] : {};
  const calls = openAiCalls(extra["tool_calls"] ?? tool_calls);
  return {
    role: ROLES[kind.toLowerCase()] ?? kind,
    content: content ?? null,
    ...(typeof name === "string" && { name }),
    ...(calls && { tool_calls: calls }),
    ...(typeof tool_call_id === "string" && { tool_call_id }),
    ...(isObject(extra["function_call"]) && { function_call: extra["function_call"] }),
  };
}

/** LangChain's calls of tools are `{id, name, args}`. */
function openAiCalls(calls: unknown): unknown[] | undefined {
  if (!Array.isArray(calls) || calls.length === 0) return undefined;
  return calls.map((call: unknown) => {
    if (!isObject(call) || call["function"] !== undefined) return call;
    const { id, name, args } = call;
    return { id, type: "function", function: { name, arguments: JSON.stringify(args ?? {}) } };
  });
}

function answerIn(outputs: Record<string, unknown> | null): string {
  if (!outputs) return "";
  const last = messagesIn(conversationIn(outputs)).at(-1);
  const content = last?.["content"];
  return typeof content === "string" ? content : bodyText(outputs);
}

/** The one text of a body; else its JSON. */
function bodyText(body: Record<string, unknown>): string {
  const [value, ...others] = Object.values(body);
  return typeof value === "string" && others.length === 0 ? value : JSON.stringify(body);
}

/** The columns of CSV: the members that the examples have, with what they belong to. */
export class CsvColumns {
  readonly #names = { inputs: new Set<string>(), outputs: new Set<string>(), metadata: new Set<string>() };

  /** The most columns. A spreadsheet has 16,384. */
  static readonly MOST = 1_000;

  /** False when there are too many columns. */
  add(example: WholeExample): boolean {
    for (const part of PARTS) for (const key of Object.keys(example[part] ?? {})) this.#names[part].add(key);
    return this.#all().length <= CsvColumns.MOST;
  }

  header(): string {
    return csvLine(["id", ...this.#all().map(([part, key]) => `${part}.${key}`)]);
  }

  line(example: WholeExample): string {
    return csvLine([example.id, ...this.#all().map(([part, key]) => formatCell(example[part]?.[key]))]);
  }

  #all(): [(typeof PARTS)[number], string][] {
    return PARTS.flatMap((part) => [...this.#names[part]].map((key) => [part, key] as [typeof part, string]));
  }
}

const PARTS = ["inputs", "outputs", "metadata"] as const;

function formatCell(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
