/** The members of `configurable` and `context` that say who runs a graph. Only the server sets them. */
import type { Json } from "../lib/json.ts";
import { custom } from "../deployment.ts";

const RESERVED = /^langgraph_auth_/;

/**
 * Whether this member is forbidden in a client's `configurable`. `user_id` is an identity where the deployment has an
 * `Auth` of its own. Without one, the server never sets it, and it is the graph's own, as in `context`.
 */
const isIdentity = (name: string): boolean => RESERVED.test(name) || (name === "user_id" && custom.auth !== undefined);

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
