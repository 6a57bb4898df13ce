/** Attributes that spread one value over several names: `prefix.3.a.b`. */
import { isObject, parseBoundedJson } from "../../lib/json.ts";
import type { Attributes } from "./span.ts";

/** A list of objects from attributes such as `prefix.3.a.b`, in the order of their numbers. */
export function unflatten(attributes: Attributes, prefix: string): Record<string, unknown>[] {
  const own = Object.entries(attributes).filter(
    ([name]) => name.startsWith(`${prefix}.`) && /^\d{1,5}\./.test(name.slice(prefix.length + 1)),
  );
  const groups = Map.groupBy(own, ([name]) => Number(name.slice(prefix.length + 1).split(".")[0]));
  return [...groups.entries()]
    .sort(([a], [b]) => a - b)
    .map(([index, entries]) =>
      nestAttributes(
        Object.fromEntries(
          entries.map(([name, value]) => [name.slice(prefix.length + String(index).length + 2), value]),
        ),
      ),
    );
}

/** `{"a.b": 1, "c.0.d": 2}` as `{a: {b: 1}, c: [{d: 2}]}`. */
export function nestAttributes(flat: Attributes): Record<string, unknown> {
  const root = Object.create(null) as Record<string, unknown>;
  for (const [name, value] of Object.entries(flat)) {
    const path = name.split(".").slice(0, 20);
    let at = root;
    for (const step of path.slice(0, -1)) {
      if (!isObject(at[step])) at[step] = Object.create(null) as Record<string, unknown>;
      at = at[step] as Record<string, unknown>;
    }
    at[path.at(-1) ?? ""] = value;
  }
  return lists(root) as Record<string, unknown>;
}

function lists(value: unknown): unknown {
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, lists(item)] as const);
  const isList = entries.length > 0 && entries.every(([key]) => /^\d{1,5}$/.test(key));
  return isList
    ? entries.sort(([a], [b]) => Number(a) - Number(b)).map(([, item]) => item)
    : Object.fromEntries(entries);
}

/** JSON texts as what they say, other values as they are. */
export function parseValue(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{"]/.test(value)) return value;
  const json = parseBoundedJson(value);
  return json === undefined ? value : json;
}

/** A text with characters, else undefined. */
export function readText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The first of these attributes that is a text with characters. */
export function firstText(attributes: Attributes, names: readonly string[]): string | undefined {
  return names.map((name) => readText(attributes[name])).find((value) => value !== undefined);
}
