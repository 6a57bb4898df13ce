/**
 * Whether a live value is what was stored of it. A node may have changed it in place, so that identity says nothing. The
 * comparison costs a tenth of the stored form: text that was not touched is the same string (`shareText`).
 */
import { isKnownMessage, isObject, type JsonObject } from "./records.ts";
import { dump } from "./stored.ts";

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
