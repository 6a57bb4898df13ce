/** What differs between two values, by path: a message or a leaf each. */
import { readMessage, type Said } from "../../traces/trace/messages.ts";

export type Change = { path: string } & (
  | { kind: "added" | "removed"; value: unknown }
  | { kind: "changed"; before: unknown; now: unknown }
);

type Raw = Record<string, unknown>;

const isRaw = (value: unknown): value is Raw => typeof value === "object" && value !== null && !Array.isArray(value);

/** A message of a state. A pair of texts is none here: it may be any list. */
export const readSaid = (value: unknown): Said | undefined => (isRaw(value) ? readMessage(value) : undefined);

const isEqual = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** In the order of the newer value; what it no longer has comes last. */
export const listChanges = (before: object, now: object): Change[] => compare("", before, now);

/** A value that is not there is undefined. */
function compare(path: string, before: unknown, now: unknown): Change[] {
  if (isEqual(before, now)) return [];
  const [said, saidNow] = [readSaid(before), readSaid(now)];
  const isMessage = said !== undefined || saidNow !== undefined;
  // Of a message that says the same, its other fields differ.
  if (!isMessage || isEqual(said, saidNow)) {
    if (canOpen(before, now, isRaw, isFilled)) return compareFields(path, before as Raw, now as Raw);
    if (canOpen(before, now, Array.isArray, hasMessages)) {
      const changes = compareItems(path, (before ?? []) as unknown[], (now ?? []) as unknown[]);
      // Items with the same ids in another order have no change of their own.
      if (changes.length > 0) return changes;
    }
  }
  if (before === undefined) return [{ kind: "added", path, value: now }];
  if (now === undefined) return [{ kind: "removed", path, value: before }];
  return [{ kind: "changed", path, before, now }];
}

type Check = (value: unknown) => boolean;

const isFilled: Check = (value) => isRaw(value) && Object.keys(value).length > 0;
const hasMessages: Check = (value) => Array.isArray(value) && value.some((item) => readSaid(item) !== undefined);

/** Whether the changes are those of what is inside: both are of a kind, or one of them is not there. */
function canOpen(before: unknown, now: unknown, isBoth: Check, isAlone: Check): boolean {
  if (before === undefined || now === undefined) return isAlone(before ?? now);
  return isBoth(before) && isBoth(now);
}

const joinPath = (path: string, name: string | number) => (path === "" ? String(name) : `${path}.${name}`);

function compareFields(path: string, before: Raw = {}, now: Raw = {}): Change[] {
  const names = new Set([...Object.keys(now), ...Object.keys(before)]);
  return [...names].flatMap((name) => compare(joinPath(path, name), before[name], now[name]));
}

/** By their ids where all have one, else by their places between the items that are the same at both ends. */
function compareItems(path: string, before: unknown[], now: unknown[]): Change[] {
  const [old, ids] = [before.map(readId), now.map(readId)];
  if (new Set(old).size === old.length && new Set(ids).size === ids.length && ![...old, ...ids].includes(undefined)) {
    const gone = before.flatMap((item, i) => (ids.includes(old[i]) ? [] : compare(joinPath(path, i), item, undefined)));
    const places = new Map(old.map((id, i) => [id, i]));
    return [...gone, ...now.flatMap((item, i) => compare(joinPath(path, i), before[places.get(ids[i]) ?? -1], item))];
  }
  let head = 0;
  while (head < before.length && head < now.length && isEqual(before[head], now[head])) head++;
  let tail = 0;
  const most = Math.min(before.length, now.length) - head;
  while (tail < most && isEqual(before.at(-1 - tail), now.at(-1 - tail))) tail++;
  const [a, b] = [before.slice(head, before.length - tail), now.slice(head, now.length - tail)];
  const count = Math.max(a.length, b.length);
  return Array.from({ length: count }, (_, i) => compare(joinPath(path, head + i), a[i], b[i])).flat();
}

function readId(item: unknown): string | undefined {
  if (!isRaw(item)) return undefined;
  const { id } = isRaw(item.kwargs) ? item.kwargs : item;
  return typeof id === "string" ? id : undefined;
}
