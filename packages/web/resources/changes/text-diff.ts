/** Two texts as one, with what was removed and what was added. */

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
    (isShort ? compare(splitWords(before), splitWords(now)) : undefined) ??
    compare(splitLines(before), splitLines(now));
  const isAlike = parts && countSame(parts) >= ALIKE * Math.min(before.length, now.length);
  return isAlike ? joinParts(parts) : replaceAll(before, now);
}

const replaceAll = (before: string, now: string): Part[] =>
  [{ kind: "removed", text: before } as const, { kind: "added", text: now } as const].filter(({ text }) => text !== "");

const countSame = (parts: Part[]): number =>
  parts.reduce((sum, { kind, text }) => sum + (kind === "same" && text.trim() !== "" ? text.length : 0), 0);

/** By the longest common subsequence; undefined where its table is too large. */
function compare(before: string[], now: string[]): Part[] | undefined {
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
