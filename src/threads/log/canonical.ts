import { isObject } from "../../lib/json.ts";

/** JSON with its members in order of name and without empty ones: equal for a value and its stored and revived self. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (!isObject(part)) return part;
    const members = Object.entries(part).filter(([, member]) => member !== null && member !== undefined);
    return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
