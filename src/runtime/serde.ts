/**
 * Two JSON forms of graph values. *Stored*: what LangGraph's serializer writes (`{lc: 1, …}` for messages), which can be
 * revived. *Wire*: what the Agent Server's clients read, where a message is one flat object with a `type`.
 */
import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  HumanMessageChunk,
  isBaseMessage,
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

/**
 * Revives the stored form (parsed). Messages are revived here; all other LangChain objects go through its own loader.
 */
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

/** How many more characters a text may take, about; the rest is left out. */
interface Room {
  left: number;
}

/** The wire form of a live value, without a detour over `toJSON`, which for a message makes its stored form. */
function plain(value: unknown, room: Room): unknown {
  if (typeof value === "string") {
    room.left -= value.length + 3;
    return room.left < 0 ? value.slice(0, Math.max(0, value.length + room.left)) : value;
  }
  if (!isObject(value)) {
    room.left -= 5;
    return typeof value === "bigint" ? value.toString() : value;
  }
  room.left -= 3;
  if (Array.isArray(value)) return items(value, room);
  if (isBaseMessage(value)) return { ...members(fieldsOf(value), room), type: typeOf(value) };
  if (value instanceof Map) return members(Object.fromEntries(value), room);
  if (value instanceof Set) return items(value, room);
  if (value instanceof Error) return members({ error: value.name, message: value.message }, room);
  if (value instanceof Uint8Array) return items(value, room);
  if (value.lg_name === "Send") return members({ node: value.node, args: value.args }, room);
  if (typeof value.toJSON === "function") return plain((value.toJSON as () => unknown)(), room);
  return members(value, room);
}

/** The message's type. One of another copy of LangChain, older than 0.3, has only the older method. */
export const typeOf = (message: BaseMessage): string => message.getType?.() ?? message._getType();

/** The data of `toDict`, which would make the stored form first: that costs five times as much, for each token. */
function fieldsOf(message: BaseMessage): object {
  const names = Object.keys(message.lc_kwargs);
  // LangChain writes such names another way.
  if (names.some((name) => /[A-Z]/.test(name))) return message.toDict().data;
  const live = message as unknown as Record<string, unknown>;
  const given = message.lc_kwargs as Record<string, unknown>;
  return Object.fromEntries(names.map((name) => [name, name in message ? live[name] : given[name]]));
}

function items(list: Iterable<unknown>, room: Room): unknown[] {
  const kept: unknown[] = [];
  for (const item of list) {
    if (room.left < 0) break;
    kept.push(plain(item, room));
  }
  return kept;
}

function members(object: object, room: Room): Record<string, unknown> {
  const kept: [string, unknown][] = [];
  for (const [key, part] of Object.entries(object)) {
    room.left -= key.length + 4;
    if (room.left < 0) break;
    kept.push([key, plain(part, room)]);
  }
  return Object.fromEntries(kept);
}

/** The wire form of a live value. Throws a TypeError for a value with a cycle. */
export function wire(value: unknown): string {
  try {
    return JSON.stringify(plain(value, { left: Infinity })) ?? "null";
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new TypeError("A value that contains itself cannot be sent.", { cause: error });
  }
}

/** The wire form of an object of about `most` characters; of a longer one about the first `kept`, and `cut: true`. */
export function wireWithin(value: object, most: number, kept: number): string {
  const room = { left: most };
  const whole = plain(value, room);
  // What has to be escaped is longer as text than it was counted.
  const text = room.left < 0 ? undefined : JSON.stringify(whole);
  if (text !== undefined && text.length <= most) return text;
  return JSON.stringify({ ...(plain(value, { left: kept }) as object), cut: true });
}

/** A streamed message's wire form: a chunk says that it is one (`AIMessageChunk`), as clients of the classic modes expect. */
export function wireChunk(message: object): string {
  const name = (message.constructor as { lc_name?: () => string }).lc_name?.() ?? "";
  const text = wire(message);
  // The type is what the wire form writes last; a token's cost is what matters here.
  return name.endsWith("MessageChunk") ? text.replace(/"type":"\w+"\}$/, `"type":"${name}"}`) : text;
}

/** Characters of an error's message that are kept. It goes into rows of limited size. */
const LONGEST_MESSAGE = 32_000;

/** `{error, message}` of any thrown value, in the format of the Agent Server's `error` event. */
export function errorBody(error: unknown): { error: string; message: string } {
  const name = error instanceof Error ? error.name : "Error";
  const message = error instanceof Error ? error.message : typeof error === "string" ? error : wire(error);
  return { error: name.slice(0, 200), message: message.slice(0, LONGEST_MESSAGE) };
}
