/** The difference of two JSON values as a JSON Patch (RFC 6902). */
import { isObject } from "../lib/json.ts";

export type Operation = { op: "add" | "replace"; path: string; value: unknown } | { op: "remove"; path: string };

/** What turns `before` into `after`: nothing when they are equal. A list that has grown is added to; any other is replaced. */
export function diff(before: unknown, after: unknown, path = ""): Operation[] {
  if (before === after) return [];
  if (isObject(before) && isObject(after)) return members(before, after, path);
  if (Array.isArray(before) && Array.isArray(after) && isBeginning(before, after)) {
    return after.slice(before.length).map((value): Operation => ({ op: "add", path: `${path}/-`, value }));
  }
  return isEqual(before, after) ? [] : [{ op: "replace", path, value: after }];
}

function members(before: Record<string, unknown>, after: Record<string, unknown>, path: string): Operation[] {
  const at = (name: string) => `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  const removed = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  return [
    ...removed.map((name): Operation => ({ op: "remove", path: at(name) })),
    ...Object.entries(after).flatMap(([name, value]): Operation[] =>
      Object.hasOwn(before, name) ? diff(before[name], value, at(name)) : [{ op: "add", path: at(name), value }],
    ),
  ];
}

const isBeginning = (before: unknown[], after: unknown[]) =>
  before.length <= after.length && before.every((value, place) => isEqual(value, after[place]));

/** Both come from JSON, and a state keeps the order of its members. */
export const isEqual = (one: unknown, other: unknown): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);
