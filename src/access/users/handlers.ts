/** Runs the deployment's `on` handlers: allow, refuse, or narrow what a user sees by metadata. */
import type { Json } from "../../lib/json.ts";
import type { Principal } from "../../http/principal.ts";
import { isObject } from "../../lib/json.ts";
import { logError } from "../../lib/log.ts";
import { Problem } from "../../lib/problem.ts";
import { callHandler } from "../../users/authenticate.ts";
import { authHandlers } from "../../deployment.ts";

/** What the metadata of a thing must contain for the user to see it; undefined: no limit. */
export type Filter = Json | undefined;

/** Asks the handler of this event. It may change `value` in place. 403 when it answers false, or with no known filter. */
export async function authorize(principal: Principal, resource: string, action: string, value: Json): Promise<Filter> {
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

/** Whether `value` contains `part`: the rule of db/contains.ts, for values in memory. */
export function containsJson(value: unknown, part: unknown): boolean {
  if (Array.isArray(part)) {
    return Array.isArray(value) && part.every((one) => value.some((member) => containsJson(member, one)));
  }
  if (!isObject(part)) return value === part;
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
