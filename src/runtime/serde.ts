/**
 * Two JSON forms of graph values. *Stored*: what LangGraph's serializer writes (`{lc: 1, …}` for messages), which can be
 * revived. *Wire*: what the Agent Server's clients read, where a message is one flat object with a `type`.
 */
import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
} from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph-checkpoint";

const MESSAGES: Record<string, { type: string; revive: new (fields: never) => unknown }> = {
  AIMessage: { type: "ai", revive: AIMessage },
  AIMessageChunk: { type: "ai", revive: AIMessageChunk },
  HumanMessage: { type: "human", revive: HumanMessage },
  HumanMessageChunk: { type: "human", revive: HumanMessageChunk },
  SystemMessage: { type: "system", revive: SystemMessage },
  SystemMessageChunk: { type: "system", revive: SystemMessageChunk },
  ToolMessage: { type: "tool", revive: ToolMessage },
  ToolMessageChunk: { type: "tool", revive: ToolMessageChunk },
  FunctionMessage: { type: "function", revive: FunctionMessage },
  ChatMessage: { type: "generic", revive: ChatMessage },
  RemoveMessage: { type: "remove", revive: RemoveMessage },
};

interface Constructed {
  lc: 1;
  type: "constructor";
  id: string[];
  kwargs: Record<string, unknown>;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
const isConstructed = (value: Record<string, unknown>): value is Record<string, unknown> & Constructed =>
  value.lc === 1 && value.type === "constructor" && Array.isArray(value.id);

function constructor(name: string, args: unknown[]): unknown {
  return { lc: 2, type: "constructor", id: [name], method: null, args, kwargs: {} };
}

function storedReplacer(key: string, value: unknown): unknown {
  // A value that is nothing is kept as such; a member that is nothing is left out, as in JSON.
  if (value === undefined && key === "") return { lc: 2, type: "undefined" };
  if (!isObject(value)) return typeof value === "bigint" ? value.toString() : value;
  if (value instanceof Map) return constructor("Map", [[...value]]);
  if (value instanceof Set) return constructor("Set", [[...value]]);
  if (value instanceof RegExp) return constructor("RegExp", [value.source, value.flags]);
  if (value instanceof Error) return constructor("Error", [value.message]);
  if (value instanceof Uint8Array) return constructor("Uint8Array", [[...value]]);
  if (value.lg_name === "Send") return { node: value.node, args: value.args };
  return value;
}

/** The stored form. Throws a TypeError for a value with a cycle: such a state cannot be kept. */
export function dump(value: unknown): string {
  return JSON.stringify(value, storedReplacer) ?? "null";
}

const library = new MemorySaver().serde;
const FOREIGN = new Error("foreign");

/** Revives the stored form (parsed). Messages are revived here; whatever else LangChain wrote goes through its own loader. */
export async function revive(stored: unknown): Promise<unknown> {
  try {
    return reviveMessages(stored);
  } catch (error) {
    if (error !== FOREIGN) throw error;
    return library.loadsTyped("json", JSON.stringify(stored));
  }
}

function reviveMessages(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reviveMessages);
  if (!isObject(value)) return value;
  if (value.lc === 2 && value.type === "undefined") return undefined;
  const message = isConstructed(value) ? MESSAGES[value.id.at(-1) ?? ""] : undefined;
  if ((value.lc === 1 || value.lc === 2) && !message) throw FOREIGN;
  const fields: Record<string, unknown> = {};
  for (const [key, part] of Object.entries(message ? (value.kwargs as object) : value))
    fields[key] = reviveMessages(part);
  return message ? new message.revive(fields as never) : fields;
}

/** From the stored form (parsed) to the wire form. */
export function flatten(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(flatten);
  if (!isObject(value)) return value;
  if (value.lc === 2) return flattenBuiltin(value);
  if (isConstructed(value)) {
    const message = MESSAGES[value.id.at(-1) ?? ""];
    const kwargs = flatten(value.kwargs) as Record<string, unknown>;
    return message ? { ...kwargs, type: message.type } : kwargs;
  }
  const flat: Record<string, unknown> = {};
  for (const [key, part] of Object.entries(value)) flat[key] = flatten(part);
  return flat;
}

function flattenBuiltin(value: Record<string, unknown>): unknown {
  if (value.type === "undefined") return null;
  const [name] = value.id as string[];
  const [first] = value.args as unknown[];
  if (name === "Map") return Object.fromEntries(flatten(first) as [string, unknown][]);
  return name === "RegExp" ? String(first) : flatten(first);
}

function wireReplacer(this: unknown, key: string, value: unknown): unknown {
  const raw = (this as Record<string, unknown>)[key];
  if (!isObject(raw)) return typeof raw === "bigint" ? raw.toString() : value;
  if (typeof raw.toDict === "function") {
    const { type, data } = (raw.toDict as () => { type: string; data: Record<string, unknown> })();
    return { ...data, type };
  }
  if (raw instanceof Map) return Object.fromEntries(raw);
  if (raw instanceof Set) return [...raw];
  if (raw instanceof Error) return { error: raw.name, message: raw.message };
  if (raw instanceof Uint8Array) return [...raw];
  if (raw.lg_name === "Send") return { node: raw.node, args: raw.args };
  return value;
}

/** The wire form of a live value. */
export function wire(value: unknown): string {
  return JSON.stringify(value, wireReplacer) ?? "null";
}

/** A streamed message's wire form: a chunk says that it is one (`AIMessageChunk`), as clients of the classic modes expect. */
export function wireChunk(message: { getType(): string; constructor: unknown }): string {
  const name = (message.constructor as { lc_name?: () => string }).lc_name?.() ?? "";
  const text = wire(message);
  // The type is what the wire form writes last; a token's cost is what matters here.
  return name.endsWith("MessageChunk") ? text.replace(/"type":"\w+"\}$/, `"type":"${name}"}`) : text;
}

/** `{error, message}` of whatever was thrown, as the Agent Server's `error` event has it. */
export function errorBody(error: unknown): { error: string; message: string } {
  if (error instanceof Error) return { error: error.name, message: error.message };
  return { error: "Error", message: typeof error === "string" ? error : wire(error) };
}
