/**
 * The stored form of graph values: what LangGraph's serializer writes (`{lc: 1, …}` for messages), which can be revived.
 * What is not exactly a record of it is the user's own data: each of these functions takes any JSON.
 */
import { load } from "@langchain/core/load";
import {
  type Builtin,
  findBuiltin,
  type Constructed,
  readEscaped,
  holdsLoadable,
  isConstructed,
  isLoadable,
  isObject,
  isSend,
  type MessageClass,
  messageClass,
} from "./records.ts";
import { memberName } from "./wire.ts";

function constructor(name: Builtin["name"], args: unknown[]): unknown {
  return { lc: 2, type: "constructor", id: [name], method: null, args, kwargs: {} };
}

function storedReplacer(this: unknown, key: string, value: unknown): unknown {
  // A value that is nothing is kept as such; a member that is nothing is left out, as in JSON.
  if (value === undefined && key === "") return { lc: 2, type: "undefined" };
  if (!isObject(value)) return typeof value === "bigint" ? value.toString() : value;
  if (value instanceof Map) return constructor("Map", [[...value]]);
  if (value instanceof Set) return constructor("Set", [[...value]]);
  if (value instanceof RegExp) return constructor("RegExp", [value.source, value.flags]);
  if (value instanceof Error) return constructor("Error", [value.message]);
  if (value instanceof Uint8Array) return constructor("Uint8Array", [[...value]]);
  // Its `toJSON` has been called, which says more than LangGraph's serializer writes.
  if (value.lg_name === "Send" && isSend((this as Record<string, object>)[key]))
    return { node: value.node, args: value.args, timeout: value.timeout };
  return value;
}

/** The stored form. Throws a TypeError for a value with a cycle: such a state cannot be kept. */
export function dump(value: unknown): string {
  return JSON.stringify(value, storedReplacer) ?? "null";
}

/**
 * Revives the stored form (parsed). What it gives shares no object with `stored`, so that the same `stored` can be
 * revived again. LangChain's objects that are no messages go through its loader, each by itself.
 */
export async function revive(stored: unknown): Promise<unknown> {
  const foreign: Constructed[] = [];
  const value = reviveWith(stored, (record) => {
    if (!isLoadable(record)) return undefined;
    foreign.push(record);
    return record;
  });
  if (foreign.length === 0) return value;
  const loaded = new Map<Constructed, unknown>();
  for (const record of foreign) loaded.set(record, await loadForeign(record));
  return reviveWith(stored, (record) => loaded.get(record));
}

/** The object that LangChain's loader makes; undefined when it makes none. */
async function loadForeign(record: Constructed): Promise<unknown> {
  if (!holdsLoadable(record)) return undefined;
  try {
    return await load(JSON.stringify(record));
  } catch {
    return undefined;
  }
}

/** Revives all but the foreign objects, which `foreign` gives. One that it does not give is data. */
function reviveWith(stored: unknown, foreign: (record: Constructed) => unknown): unknown {
  const part = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(part);
    if (!isObject(value)) return value;
    if (value.lc === 1 && isConstructed(value)) return constructed(value) ?? mapMembers(value, part);
    const builtin = findBuiltin(value);
    return builtin ? reviveBuiltin(builtin, part) : mapMembers(value, part);
  };
  const partOfMessage = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(partOfMessage);
    if (!isObject(value)) return value;
    const own = readEscaped(value);
    if (own) return structuredClone(own.value);
    return "lc" in value ? part(value) : mapMembers(value, partOfMessage);
  };
  const constructed = (record: Constructed): unknown => {
    const message = messageClass(record);
    return message ? reviveMessage(message, mapMembers(record.kwargs, partOfMessage)) : foreign(record);
  };
  return part(stored);
}

/** The message; undefined when LangChain makes none of these fields. */
function reviveMessage({ revive: Message }: MessageClass, fields: object): unknown {
  try {
    const message = new Message(fields as never);
    // Such a field is stored as what a getter gives, which may throw.
    for (const name of Object.keys(fields)) {
      if (name in Message.prototype) {
        dump(message);
        break;
      }
    }
    return message;
  } catch {
    return undefined;
  }
}

function reviveBuiltin(builtin: Builtin, part: (value: unknown) => unknown): unknown {
  switch (builtin.name) {
    case "undefined":
      return undefined;
    case "Map":
      return new Map(builtin.entries.map(([key, value]) => [part(key), part(value)]));
    case "Set":
      return new Set(builtin.items.map(part));
    case "Uint8Array":
      return new Uint8Array(builtin.bytes);
    case "RegExp":
      return new RegExp(builtin.source, builtin.flags);
    case "Error":
      return new Error(builtin.message);
  }
}

/** From the stored form (parsed) to the wire form. */
export function flatten(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(flatten);
  if (!isObject(value)) return value;
  if (value.lc === 1 && isConstructed(value)) {
    const message = messageClass(value);
    if (message) return { ...mapMembers(value.kwargs, flattenPart), type: message.type };
  }
  const builtin = findBuiltin(value);
  return builtin ? flattenBuiltin(builtin) : mapMembers(value, flatten);
}

/** A part of a message. */
function flattenPart(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(flattenPart);
  if (!isObject(value)) return value;
  const own = readEscaped(value);
  if (own) return own.value;
  return "lc" in value ? flatten(value) : mapMembers(value, flattenPart);
}

function flattenBuiltin(builtin: Builtin): unknown {
  switch (builtin.name) {
    case "undefined":
      return null;
    case "Map":
      return Object.fromEntries(builtin.entries.map(([key, value]) => [memberName(flatten(key)), flatten(value)]));
    case "Set":
      return builtin.items.map(flatten);
    case "Uint8Array":
      return builtin.bytes;
    case "RegExp":
      return builtin.source;
    case "Error":
      return builtin.message;
  }
}

/** A copy with each member changed, also one that is called `__proto__`. */
function mapMembers(object: object, change: (value: unknown) => unknown): Record<string, unknown> {
  const changed: Record<string, unknown> = {};
  for (const name of Object.keys(object)) {
    const value = (object as Record<string, unknown>)[name];
    const part = isObject(value) ? change(value) : value;
    if (name === "__proto__") Object.defineProperty(changed, name, { ...MEMBER, value: part });
    else changed[name] = part;
  }
  return changed;
}
const MEMBER = { configurable: true, enumerable: true, writable: true };
