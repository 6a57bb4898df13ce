/** Single values out of a thread or a state, by path: a client that needs one message does not load them all. */
import * as v from "valibot";
import type { Json } from "../../lib/json.ts";

/** Named paths such as `{first: "values.messages[0].content"}`. `roots`: the members at which a path may start. */
export const pathsFrom = (roots: readonly string[]) =>
  v.pipe(
    v.record(
      v.string(),
      v.pipe(
        v.string(),
        v.regex(
          new RegExp(`^(${roots.join("|")})(\\.[\\w-]+|\\[-?\\d+\\])*$`),
          `must start at ${roots.slice(0, -1).join(", ")} or ${roots.at(-1)}, as in values.messages[-1]`,
        ),
      ),
    ),
    v.check((paths) => Object.keys(paths).length <= 10, "at most 10 paths"),
  );

/** What each path leads to, by its name; null where it leads to nothing. */
export function extractPaths(from: Json, paths: Record<string, string>): Json {
  return Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, readPath(from, path)]));
}

function readPath(from: Json, path: string): unknown {
  let value: unknown = from;
  for (const [, name, index] of path.matchAll(/([\w-]+)|\[(-?\d+)\]/g)) {
    if (typeof value !== "object" || value === null) return null;
    if (name === undefined) value = Array.isArray(value) ? (value as unknown[]).at(Number(index)) : undefined;
    else value = Object.hasOwn(value, name) ? (value as Json)[name] : undefined;
  }
  return value ?? null;
}
