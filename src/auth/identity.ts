/** The members of `configurable` and `context` that say who runs a graph. Only the server sets them. */
import type { Json } from "../json.ts";

const RESERVED = /^langgraph_auth_/;

/** Whether this member is forbidden in a client's `configurable`. */
const isIdentity = (name: string): boolean => name === "user_id" || RESERVED.test(name);

/** A client's `configurable` without the members that only the server sets. */
export function withoutIdentity(configurable: Json): Json {
  return Object.fromEntries(Object.entries(configurable).filter(([name]) => !isIdentity(name)));
}

/** A client's `context` without `langgraph_auth_*`. The server never sets `user_id` there: it is the graph's own. */
export function contextWithoutIdentity(context: Json): Json {
  return Object.fromEntries(Object.entries(context).filter(([name]) => !RESERVED.test(name)));
}

/** A config of a client, its `configurable` without the members that only the server sets. */
export function configWithoutIdentity<C extends { configurable?: unknown }>(config: C): C {
  const { configurable } = config;
  if (typeof configurable !== "object" || configurable === null) return config;
  return { ...config, configurable: withoutIdentity(configurable as Json) };
}
