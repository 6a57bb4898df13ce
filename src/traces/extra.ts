/** `extra` of a run: how that of its post and those of its patches become one. */
import { isSealedJson } from "../access/encryption/ring.ts";
import { hasMembers, parseExact } from "../lib/json.ts";

type Extra = Record<string, unknown>;

/** Sealed texts of one run that wait to be joined. SDKs send a post and a patch. */
const MOST_SEALED = 8;

/** Two levels deep, so that the members of `extra.metadata` are joined. `over` wins. */
export function mergeExtras(under: Extra, over: Extra): Extra {
  const merged: Extra = { ...under, ...over };
  for (const [key, value] of Object.entries(over)) {
    const below = under[key];
    if (hasMembers(value) && hasMembers(below)) merged[key] = { ...below, ...value };
  }
  return merged;
}

/** Whether the text is a list of texts, which a partition cannot join. An `extra` itself is an object. */
export const isList = (extra: string): boolean => extra.startsWith("[");

export const isSealedExtra = (extra: string): boolean => isList(extra) || isSealedJson(extra);

const withoutBrackets = (extra: string) => (isList(extra) ? extra.slice(1, -1) : extra);

/** Both as a JSON list of objects and sealed texts, the one that wins last. Undefined when they are too many. */
export function listExtras(under: string, over: string): string | undefined {
  const list = `[${withoutBrackets(under)},${withoutBrackets(over)}]`;
  return (JSON.parse(list) as unknown[]).length <= MOST_SEALED ? list : undefined;
}

/** The `extra` that a list of texts makes, once each is opened. */
export function joinExtras(list: string, open: (sealed: string) => string): string {
  const parts = (parseExact(list) as unknown[]).map((part) =>
    typeof part === "string" ? (parseExact(open(part)) as Extra) : (part as Extra),
  );
  return JSON.stringify(parts.reduce(mergeExtras, {}));
}
