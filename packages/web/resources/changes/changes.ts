/** Differences of two values, by path: a message or a leaf each. */
import { readMessage, type ReadMessage } from "../../traces/trace/messages.ts";

export type Change = { path: string } & (
  | { kind: "added" | "removed"; value: unknown }
  | { kind: "changed"; before: unknown; now: unknown }
);

type Raw = Record<string, unknown>;

const isRaw = (value: unknown): value is Raw => typeof value === "object" && value !== null && !Array.isArray(value);

/** A message of a state. A pair of texts is none here: it may be any list. */
export const readSaid = (value: unknown): ReadMessage | undefined => (isRaw(value) ? readMessage(value) : undefined);

const isEqual = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** In the order of the newer value; what it no longer has comes last. */
export const listChanges = (before: object, now: object): Change[] => compare("", before, now);

/** A value that is not there is undefined. */
function compare(path: string, before: unknown, now: unknown): Change[] {
  if (isEqual(before, now)) return [];
  const [said, saidNow] = [readSaid(before), readSaid(now)];
  const isMessage = said !== undefined || saidNow !== undefined;
  // A message with the same text differs in its other fields.
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

// Two texts as one, with what was removed and what was added.

export interface Part {
  kind: "same" | "removed" | "added";
  text: string;
}

/** Above these, texts are compared by line: characters, and cells of the table of two texts. */
const WORDS_MOST = 40_000;
const CELLS_MOST = 2_000_000;
/** Texts that have less than this share of characters in common are shown one after the other. */
const ALIKE = 0.3;

// It splits text and formats nothing.
// oxlint-disable-next-line no-restricted-globals
const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

const splitWords = (text: string): string[] => Array.from(segmenter.segment(text), ({ segment }) => segment);
const splitLines = (text: string): string[] => text.split(/(?<=\n)/);

export function diffTexts(before: string, now: string): Part[] {
  const isShort = before.length + now.length <= WORDS_MOST;
  const parts =
    (isShort ? compareWords(splitWords(before), splitWords(now)) : undefined) ??
    compareWords(splitLines(before), splitLines(now));
  const isAlike = parts && countSame(parts) >= ALIKE * Math.min(before.length, now.length);
  return isAlike ? joinParts(parts) : replaceAll(before, now);
}

const replaceAll = (before: string, now: string): Part[] =>
  [{ kind: "removed", text: before } as const, { kind: "added", text: now } as const].filter(({ text }) => text !== "");

const countSame = (parts: Part[]): number =>
  parts.reduce((sum, { kind, text }) => sum + (kind === "same" && text.trim() !== "" ? text.length : 0), 0);

/** By the longest common subsequence; undefined where its table is too large. */
function compareWords(before: string[], now: string[]): Part[] | undefined {
  let head = 0;
  while (head < before.length && head < now.length && before[head] === now[head]) head++;
  let tail = 0;
  const most = Math.min(before.length, now.length) - head;
  while (tail < most && before.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const [a, b] = [before.slice(head, before.length - tail), now.slice(head, now.length - tail)];
  if (a.length * b.length > CELLS_MOST) return undefined;
  const same = (words: string[]): Part[] => words.map((text) => ({ kind: "same", text }));
  return [
    ...same(before.slice(0, head)),
    ...walk(a, b, measureCommon(a, b)),
    ...same(before.slice(before.length - tail)),
  ];
}

/** The lengths of the longest common subsequences of the texts from each pair of places on. */
function measureCommon(a: string[], b: string[]): Uint32Array {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--) {
      const [down = 0, right = 0, both = 0] = [
        lengths[(i + 1) * width + j],
        lengths[i * width + j + 1],
        lengths[(i + 1) * width + j + 1],
      ];
      lengths[i * width + j] = a[i] === b[j] ? both + 1 : Math.max(down, right);
    }
  return lengths;
}

function walk(a: string[], b: string[], lengths: Uint32Array): Part[] {
  const width = b.length + 1;
  const parts: Part[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [word = "", other = ""] = [a[i], b[j]];
    if (i < a.length && j < b.length && word === other) {
      parts.push({ kind: "same", text: word });
      i++;
      j++;
    } else if (
      j >= b.length ||
      (i < a.length && (lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0))
    ) {
      parts.push({ kind: "removed", text: word });
      i++;
    } else {
      parts.push({ kind: "added", text: other });
      j++;
    }
  }
  return parts;
}

/** Neighbours of one kind in one part. A space between two changed words is a part of the change. */
function joinParts(parts: Part[]): Part[] {
  const joined: Part[] = [];
  let [removed, added] = ["", ""];
  const flush = () => {
    joined.push(...replaceAll(removed, added));
    [removed, added] = ["", ""];
  };
  for (const [i, { kind, text }] of parts.entries()) {
    if (kind === "removed") removed += text;
    else if (kind === "added") added += text;
    else if (text === " " && (removed || added) && parts[i + 1] && parts[i + 1]?.kind !== "same") {
      removed += text;
      added += text;
    } else {
      flush();
      const last = joined.at(-1);
      if (last?.kind === "same") last.text += text;
      else joined.push({ kind, text });
    }
  }
  flush();
  return joined;
}
