/** Runs the deployment's `on` handlers: allow, refuse, or narrow what a user sees by metadata. */
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { Problem } from "../../lib/problem.ts";
import type { AppUser, Principal } from "../../http/principal.ts";
import { authHandlers, projectExports } from "../../deployment.ts";
import { canonicalJson, isExactNumber, type Json, isObject } from "../../lib/json.ts";
import { logError } from "../../lib/log.ts";

// Runs the deployment's own `authenticate` handler.

/** Whether the deployment says itself who its users are. */
export const hasUsers = async (): Promise<boolean> => (await authHandlers())?.authenticate !== undefined;

/** The user that the handler sees behind this request; 401, or the handler's own refusal, when it sees none. */
export async function resolveUser(request: Request): Promise<AppUser> {
  const handlers = await authHandlers();
  const answer = await callHandler(() => handlers?.authenticate?.(request.clone()));
  if (typeof answer === "string") return completeUser({ identity: answer });
  const identity = (answer as { identity?: unknown } | null | undefined)?.identity;
  if (typeof identity === "string") return completeUser({ ...(answer as object), identity });
  throw new Problem(401, "The request has no valid credential for this deployment.");
}

/** What a handler of the user's answers. It refuses by an exception with a status, whose headers reach the client. */
export async function callHandler<T>(handler: () => T): Promise<Awaited<T>> {
  try {
    return await handler();
  } catch (error) {
    const { status, message, headers } = error as { status?: unknown; message?: string; headers?: HeadersInit };
    if (typeof status !== "number" || status < 400 || status > 499) throw error;
    const own = Object.fromEntries(new Headers(headers ?? {}));
    throw new Problem(status as ContentfulStatusCode, message || "Refused.", { headers: own });
  }
}

function completeUser(user: { identity: string; [field: string]: unknown }): AppUser {
  const permissions = Array.isArray(user.permissions) ? user.permissions.map(String) : [];
  return { display_name: user.identity, is_authenticated: true, ...user, permissions };
}

/** What the metadata of a thing must contain for the user to see it; undefined: no limit. */
export type UserFilter = Json | undefined;

/** Asks the handler of this event. It may change `value` in place. 403 when it answers false, or with no known filter. */
export async function authorize(
  principal: Principal,
  resource: string,
  action: string,
  value: Json,
): Promise<UserFilter> {
  const rules = await rulesFor(principal, resource, action, value);
  return rules && toContainment(rules);
}

/**
 * Asks the handler of this event, the most particular one there is: `threads:create`, `threads`, `*:create`, `*`. Gives the
 * rules of its filter, and undefined when it allows everything.
 */
export async function rulesFor(
  principal: Principal,
  resource: string,
  action: string,
  value: Json,
): Promise<Json | undefined> {
  const { user } = principal;
  if (!user) return undefined;
  const callbacks = (await authHandlers())?.callbacks;
  const keys = [`${resource}:${action}`, resource, `*:${action}`, "*"];
  const handler = keys.map((key) => callbacks?.[key]).find((one) => one !== undefined);
  if (!handler) return undefined;
  const event = { event: `${resource}:${action}`, resource, action, value, permissions: user.permissions, user };
  const answer = await callHandler(() => handler(event));
  if (answer === undefined || answer === null || answer === true) return undefined;
  if (answer === false) throw new Problem(403, "Not allowed.");
  return isObject(answer) ? answer : refuseUnknown(answer);
}

/** Refuses the request for an answer of a handler that is neither a boolean nor a known filter. */
export function refuseUnknown(answer: unknown): never {
  const rule = isObject(answer) ? Object.keys(answer).join(", ") : typeof answer;
  logError(new Error("The auth handler gave neither a boolean nor a filter that is known."), { rule });
  throw new Problem(403, "Not allowed: the auth handler of this deployment gave an answer that is not known.");
}

/** Whether the principal may delete the thread with these metadata: neither refused by a handler, nor out of its sight. */
export async function mayDelete(principal: Principal, thread_id: string, metadata: Json): Promise<boolean> {
  try {
    const filter = await authorize(principal, "threads", "delete", { thread_id });
    return !filter || containsJson(metadata, filter);
  } catch (error) {
    // Of many threads, one that is refused is left out.
    if (error instanceof Problem && error.status === 403) return false;
    throw error;
  }
}

/** `{owner: "a"}`, `{owner: {$eq: "a"}}` and `{team: {$contains: "a"}}` as one value that metadata must contain. */
export function toContainment(filters: Json): Json {
  const known = (rule: unknown): [unknown] | undefined => {
    if (rule === undefined || typeof rule === "function") return undefined;
    if (typeof rule !== "object" || rule === null) return [rule];
    const [[operator, value] = [], ...others] = Object.entries(rule);
    if (others.length > 0 || value === undefined) return undefined;
    if (operator === "$eq") return [value];
    return operator === "$contains" ? [[value].flat()] : undefined;
  };
  const rules = Object.entries(filters).map(([key, rule]) => ({ key, rule: known(rule) }));
  if (rules.some(({ rule }) => rule === undefined)) refuseUnknown(filters);
  return Object.fromEntries(rules.map(({ key, rule }) => [key, rule?.[0]]));
}

/** Whether `value` contains `part`: the rule of db/conditions.ts, for values in memory. */
export function containsJson(value: unknown, part: unknown): boolean {
  if (Array.isArray(part)) {
    return Array.isArray(value) && part.every((one) => value.some((member) => containsJson(member, one)));
  }
  if (!isObject(part)) return value === part || (isExactNumber(part) && canonicalJson(value) === part.rawJSON);
  return (
    isObject(value) &&
    Object.entries(part).every(([key, one]) => Object.hasOwn(value, key) && containsJson(value[key], one))
  );
}

/** A metadata filter that requires both; undefined when nothing can match both. */
export function mergeFilters(asked: Json, filter: Json): Json | undefined {
  const merged = { ...asked };
  for (const [key, rule] of Object.entries(filter)) {
    const given = merged[key];
    if (given === undefined || given === rule) merged[key] = rule;
    else if (Array.isArray(given) && Array.isArray(rule)) merged[key] = [...given, ...rule];
    else return undefined;
  }
  return merged;
}

// The members of `configurable` and `context` that say who runs a graph. Only the server sets them.

const RESERVED = /^langgraph_auth_/;

/**
 * Whether this member is forbidden in a client's `configurable`. `user_id` is an identity where the deployment has an
 * `Auth` of its own. Without one, the server never sets it, and it is the graph's own, as in `context`.
 */
const isIdentity = (name: string): boolean =>
  RESERVED.test(name) || (name === "user_id" && projectExports.auth !== undefined);

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
