/**
 * The stored form of graph values: what LangGraph's serializer writes (`{lc: 1, …}` for messages), which can be revived.
 * What is not exactly a record of it is the user's own data: each of these functions takes any JSON.
 */
import { load } from "@langchain/core/load";
import {
  type BuiltinValue,
  findBuiltin,
  type ConstructedObject,
  readEscaped,
  holdsLoadable,
  isConstructed,
  isLoadable,
  isObject,
  isSend,
  type MessageClass,
  messageClass,
  isKnownMessage,
  type JsonObject,
} from "./records.ts";
import { memberName } from "./wire.ts";

function constructor(name: BuiltinValue["name"], args: unknown[]): unknown {
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
  const foreign: ConstructedObject[] = [];
  const value = reviveWith(stored, (record) => {
    if (!isLoadable(record)) return undefined;
    foreign.push(record);
    return record;
  });
  if (foreign.length === 0) return value;
  const loaded = new Map<ConstructedObject, unknown>();
  for (const record of foreign) loaded.set(record, await loadForeign(record));
  return reviveWith(stored, (record) => loaded.get(record));
}

/** The object that LangChain's loader makes; undefined when it makes none. */
async function loadForeign(record: ConstructedObject): Promise<unknown> {
  if (!holdsLoadable(record)) return undefined;
  try {
    return await load(JSON.stringify(record));
  } catch {
    return undefined;
  }
}

/** Revives all but the foreign objects, which `foreign` gives. One that it does not give is data. */
function reviveWith(stored: unknown, foreign: (record: ConstructedObject) => unknown): unknown {
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
  const constructed = (record: ConstructedObject): unknown => {
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

function reviveBuiltin(builtin: BuiltinValue, part: (value: unknown) => unknown): unknown {
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

function flattenBuiltin(builtin: BuiltinValue): unknown {
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

// Whether a live value is what was stored of it. A node may have changed it in place, so that identity says nothing. The
// comparison costs a tenth of the stored form: text that was not touched is the same string (`shareText`).

/** Whether `dump` of the value would give `stored` (parsed) again. The order of members does not matter. */
export function isStoredAs(value: unknown, stored: unknown): boolean {
  if (value === stored) return true;
  if (isObject(value)) {
    if (Array.isArray(value)) return Array.isArray(stored) && sameItems(value, stored);
    if (isPlain(value)) return isObject(stored) && !Array.isArray(stored) && sameMembers(value, undefined, stored);
    if (isKnownMessage(value) && isSameMessage(value, stored)) return true;
  } else if (typeof value === "string" || typeof value === "boolean") return false;
  return JSON.stringify(JSON.parse(dump(value))) === JSON.stringify(stored);
}

function isPlain(value: JsonObject): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && typeof value.toJSON !== "function";
}

/** Whether JSON has the value. It leaves members without one out, and writes `null` for such items. */
const isWritten = (value: unknown): boolean =>
  value !== undefined && typeof value !== "function" && typeof value !== "symbol";

function sameItems(items: unknown[], stored: unknown[]): boolean {
  if (items.length !== stored.length) return false;
  for (let i = 0; i < items.length; i++) {
    if (!isStoredAs(isWritten(items[i]) ? items[i] : null, stored[i])) return false;
  }
  return true;
}

/** Compares the members of `named`; where `owner` has a member of the same name, that one counts. */
function sameMembers(named: JsonObject, owner: JsonObject | undefined, stored: JsonObject): boolean {
  let written = 0;
  for (const name of Object.keys(named)) {
    const value = owner && name in owner ? owner[name] : named[name];
    if (!isWritten(value)) continue;
    if (!Object.hasOwn(stored, name) || !isStoredAs(value, stored[name])) return false;
    written += 1;
  }
  return written === Object.keys(stored).length;
}

/**
 * LangChain stores the fields that a message was made of, with their values now. It writes some names and some values
 * another way, so that `false` only means that the stored form has to be made.
 */
function isSameMessage(message: JsonObject, stored: unknown): boolean {
  if (!isObject(stored) || !isObject(stored.kwargs)) return false;
  const { lc_serializable, lc_namespace, lc_kwargs } = message;
  if (lc_serializable !== true || !Array.isArray(lc_namespace) || !isObject(lc_kwargs)) return false;
  return hasId(message, lc_namespace, stored.id) && sameMembers(lc_kwargs, message, stored.kwargs);
}

function hasId({ constructor }: JsonObject, namespace: unknown[], id: unknown): boolean {
  if (!Array.isArray(id) || id.length !== namespace.length + 1) return false;
  const name = (constructor as unknown as { lc_name(): string }).lc_name();
  // `every` of the namespace would leave out holes.
  return id.every((part, i) => part === (i < namespace.length ? namespace[i] : name));
}

/** Gives `stored`, which `dump` of the value gave, the value's own strings: they are in memory once, and compare at once. */
export function shareText(value: unknown, stored: unknown): void {
  if (!isObject(value) || !isObject(stored)) return;
  const into = isKnownMessage(value) && isObject(stored.kwargs) ? stored.kwargs : stored;
  for (const [name, part] of Object.entries(into)) {
    const own = value[name];
    if (typeof part !== "string") shareText(own, part);
    else if (own === part) into[name] = own;
  }
}
