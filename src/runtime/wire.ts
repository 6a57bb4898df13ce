/**
 * The wire form of graph values: what the Agent Server's clients read, where a message is one flat object with a `type`.
 * The stored form is in stored.ts.
 */
import { type BaseMessage, isBaseMessage } from "@langchain/core/messages";
import { isObject, isSend } from "./records.ts";
import type { Json } from "../lib/json.ts";

/** How many more characters a text may take, about; the rest is left out. */
interface Room {
  left: number;
}

/** The wire form of a live value, without a detour over `toJSON`, which for a message makes its stored form. */
function toPlain(value: unknown, room: Room): unknown {
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
  if (isBaseMessage(value)) return { ...members(readFields(value), room), type: messageType(value) };
  if (value instanceof Map)
    return members(Object.fromEntries([...value].map(([key, part]) => [memberName(key), part])), room);
  if (value instanceof Set) return items(value, room);
  if (value instanceof Error) return members({ error: value.name, message: value.message }, room);
  if (value instanceof Uint8Array) return items(value, room);
  if (isSend(value)) return members({ node: value.node, args: value.args }, room);
  if (typeof value.toJSON === "function") return toPlain((value.toJSON as () => unknown)(), room);
  return members(value, room);
}

/** The message's type. One of another copy of LangChain, older than 0.3, has only the older method. */
export const messageType = (message: BaseMessage): string => message.getType?.() ?? message._getType();

/** The data of `toDict`, which would make the stored form first: that costs five times as much, for each token. */
function readFields(message: BaseMessage): object {
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
    kept.push(toPlain(item, room));
  }
  return kept;
}

function members(object: object, room: Room): Record<string, unknown> {
  const kept: [string, unknown][] = [];
  for (const [key, part] of Object.entries(object)) {
    room.left -= key.length + 4;
    if (room.left < 0) break;
    kept.push([key, toPlain(part, room)]);
  }
  return Object.fromEntries(kept);
}

/** The wire form of a live value. Throws a TypeError for a value with a cycle. */
export function toWireJson(value: unknown): string {
  try {
    return JSON.stringify(toPlain(value, { left: Infinity })) ?? "null";
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new TypeError("A value that contains itself cannot be sent.", { cause: error });
  }
}

/** The name of a member for a key of a map: an object has no text of its own, or may have none at all. */
export const memberName = (key: unknown): string => (isObject(key) ? toWireJson(key) : String(key));

/** The wire form of an object of about `most` characters; of a longer one about the first `kept`, and `cut: true`. */
export function wireWithin(value: object, most: number, kept: number): string {
  const room = { left: most };
  const whole = toPlain(value, room);
  // What has to be escaped is longer as text than it was counted.
  const text = room.left < 0 ? undefined : JSON.stringify(whole);
  if (text !== undefined && text.length <= most) return text;
  return JSON.stringify({ ...(toPlain(value, { left: kept }) as object), cut: true });
}

/** A streamed message's wire form: a chunk says that it is one (`AIMessageChunk`), as clients of the classic modes expect. */
export function wireChunk(message: object): string {
  const name = (message.constructor as { lc_name?: () => string }).lc_name?.() ?? "";
  const text = toWireJson(message);
  // The type is what the wire form writes last; a token's cost is what matters here.
  return name.endsWith("MessageChunk") ? text.replace(/"type":"\w+"\}$/, `"type":"${name}"}`) : text;
}

/** Characters of an error's message that are kept. It goes into rows of limited size. */
const MAX_MESSAGE_LENGTH = 32_000;

/** `{error, message}` of any thrown value, in the format of the Agent Server's `error` event. */
export function errorBody(error: unknown): { error: string; message: string } {
  const name = error instanceof Error ? error.name : "Error";
  const message = error instanceof Error ? error.message : typeof error === "string" ? error : toWireJson(error);
  return { error: name.slice(0, 200), message: message.slice(0, MAX_MESSAGE_LENGTH) };
}

// LangGraph's `debug` chunks as the Agent Server puts them on the wire: no callbacks, no internal keys, checkpoints by address.

/** A `debug` chunk in wire form, as JSON. */
export function wireDebug(chunk: unknown): string {
  const { type, payload, ...rest } = chunk as Json & { type: string; payload: Json };
  if (type === "checkpoint") return toWireJson({ ...rest, type, payload: checkpoint(payload) });
  return toWireJson({ ...rest, type, payload: task(payload) });
}

function checkpoint({ parentConfig, config, tasks, ...rest }: Json): Json {
  return {
    ...rest,
    config: toExternal(config),
    parent_config: toExternal(parentConfig),
    checkpoint: readAddress(config),
    parent_checkpoint: readAddress(parentConfig),
    tasks: (tasks as Json[]).map(task),
  };
}

function task({ state, ...rest }: Json): Json {
  const at = readAddress(state);
  return at ? { ...rest, checkpoint: at } : state === undefined ? rest : { ...rest, state };
}

function toExternal(config: unknown): unknown {
  const configurable = (config as { configurable?: Json } | undefined)?.configurable;
  if (!configurable) return config;
  const { callbacks: _callbacks, ...rest } = config as Json;
  return {
    ...rest,
    configurable: Object.fromEntries(Object.entries(configurable).filter(([key]) => !internal(key))),
  };
}

/** A nested graph's config inherits the key of the task around it. */
const internal = (key: string): boolean => key.startsWith("__") || key === "idempotency_key";

/** The checkpoint a RunnableConfig names, or null. */
export function readAddress(config: unknown): Json | null {
  const configurable = (config as { configurable?: Json } | undefined)?.configurable;
  if (!configurable?.thread_id) return null;
  const { thread_id, checkpoint_id, checkpoint_ns, checkpoint_map } = configurable;
  return {
    thread_id,
    checkpoint_id: checkpoint_id ?? null,
    checkpoint_ns: checkpoint_ns ?? "",
    checkpoint_map: checkpoint_map ?? null,
  };
}
