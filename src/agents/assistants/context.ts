/**
 * `config.configurable` and `context`, two names for what configures a graph. Where a request or an assistant has only one of them,
 * it counts as both, as on the Python Agent Server.
 */
import { contextWithoutIdentity, withoutIdentity } from "../../access/users/handlers.ts";
import { canonicalJson, type Json } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";

/** Members of `configurable` that say where a run runs. Clients send them beside a `context`. */
const ADDRESS = /^(thread_id|run_id|graph_id|assistant_id|checkpoint_(id|ns|map)|__.*)$/;

const settings = (configurable: Json | undefined): Json =>
  Object.fromEntries(Object.entries(configurable ?? {}).filter(([name]) => !ADDRESS.test(name)));

const isEmpty = (members: Json): boolean => Object.keys(members).length === 0;

/** Both, each filled from the other where it is empty. Addresses and identities are not copied. */
export function mirrorContext<C extends object>(
  config: C & { configurable?: unknown },
  context: Json = {},
): { config: C & { configurable?: Json }; context: Json } {
  const own = config as C & { configurable?: Json };
  const given = settings(own.configurable);
  if (isEmpty(context)) return { config: own, context: contextWithoutIdentity(given) };
  if (!isEmpty(given)) return { config: own, context };
  return { config: { ...own, configurable: { ...withoutIdentity(settings(context)), ...own.configurable } }, context };
}

/** @throws Problem 400 when both have a member of one name, with different values. */
export function refuseConflict(
  config: { configurable?: unknown } | null | undefined,
  context: Json | null | undefined,
): void {
  const given = settings((config?.configurable ?? {}) as Json);
  const names = Object.keys(context ?? {}).filter(
    (name) => Object.hasOwn(given, name) && canonicalJson(given[name]) !== canonicalJson(context?.[name]),
  );
  if (names.length === 0) return;
  throw new Problem(
    400,
    `config.configurable and context have different values of ${names.slice(0, 5).join(", ")}. Send context alone.`,
  );
}
