/** Which events a subscription gets. */
import type { ProtocolEvent } from "../protocols/streaming/events.ts";
import type { Filter } from "../protocols/streaming/schema.ts";

/** Whether an event belongs to a subscription by channel, namespace and depth; `since` is the reader's cursor. */
export function matcher({ channels, namespaces, depth }: Filter): (event: ProtocolEvent) => boolean {
  const wanted = new Set(channels);
  const prefixes = namespaces ?? [];
  return (event) => {
    if (!wantsChannel(wanted, event)) return false;
    const { namespace } = event;
    // Without namespaces everything is wanted, however deep.
    if (prefixes.length === 0) return true;
    return prefixes.some(
      (prefix) => isUnder(prefix, namespace) && (depth == null || namespace.length - prefix.length <= depth),
    );
  };
}

function wantsChannel(wanted: Set<string>, { method, name }: ProtocolEvent): boolean {
  if (wanted.has(method)) return true;
  if (method.startsWith("input.")) return wanted.has("input");
  return name !== undefined && wanted.has(`custom:${name}`);
}

/** A segment without a task id (`research`) matches every task of that node (`research:<id>`). */
function isUnder(prefix: string[], namespace: string[]): boolean {
  if (prefix.length > namespace.length) return false;
  return prefix.every((segment, i) => {
    const actual = namespace[i] ?? "";
    return segment === actual || (!segment.includes(":") && segment === actual.split(":")[0]);
  });
}
