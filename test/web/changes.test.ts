/** What a person reads of two values: which paths changed, and which words of a text. */
import { describe, expect, it } from "vitest";
import { listChanges, diffTexts } from "../../packages/web/resources/changes/changes.ts";

const human = { type: "human", content: "hi", id: "1" };
const ai = { type: "ai", content: "Hello.", id: "2" };

describe("changes of a state", () => {
  it("are its leaves by path, with what was there before", () => {
    const before = { count: 1, settings: { model: "small", depth: 2 }, gone: true };
    const now = { count: 2, settings: { model: "large", depth: 2, tone: { kind: true } } };
    expect(listChanges(before, now)).toEqual([
      { kind: "changed", path: "count", before: 1, now: 2 },
      { kind: "changed", path: "settings.model", before: "small", now: "large" },
      { kind: "added", path: "settings.tone.kind", value: true },
      { kind: "removed", path: "gone", value: true },
    ]);
    expect(listChanges(now, now)).toEqual([]);
  });

  it("has a message as a whole, also in the first state", () => {
    expect(listChanges({}, { messages: [human, ai] })).toEqual([
      { kind: "added", path: "messages.0", value: human },
      { kind: "added", path: "messages.1", value: ai },
    ]);
    const edited = { ...ai, content: "Good morning." };
    expect(listChanges({ messages: [human, ai] }, { messages: [human, edited] })).toEqual([
      { kind: "changed", path: "messages.1", before: ai, now: edited },
    ]);
  });

  it("knows a message by its id after one before it was removed", () => {
    expect(listChanges({ messages: [human, ai] }, { messages: [ai] })).toEqual([
      { kind: "removed", path: "messages.0", value: human },
    ]);
    expect(listChanges({ messages: [human, ai] }, { messages: [ai, human] })).toMatchObject([
      { kind: "changed", path: "messages" },
    ]);
  });

  it("has only the other fields of a message that says the same", () => {
    const counted = { ...ai, usage: { tokens: 3 } };
    expect(listChanges({ messages: [ai] }, { messages: [counted] })).toEqual([
      { kind: "added", path: "messages.0.usage.tokens", value: 3 },
    ]);
  });

  it("has what was put in between the items of a list", () => {
    expect(listChanges({ steps: ["a", "c"] }, { steps: ["a", "b", "c"] })).toEqual([
      { kind: "added", path: "steps.1", value: "b" },
    ]);
    expect(listChanges({}, { steps: ["a", "b"] })).toEqual([{ kind: "added", path: "steps", value: ["a", "b"] }]);
  });
});

describe("changes of a text", () => {
  const write = (before: string, now: string) =>
    diffTexts(before, now)
      .map(({ kind, text }) => (kind === "same" ? text : kind === "removed" ? `[-${text}]` : `[+${text}]`))
      .join("");

  it.each([
    ["a word", "The refund takes five days.", "The refund takes two days.", "The refund takes [-five][+two] days."],
    ["words beside each other", "Say a b to them now.", "Say x y to them now.", "Say [-a b][+x y] to them now."],
    ["words at the end", "Be brief.", "Be brief. Name the date.", "Be brief.[+ Name the date.]"],
    ["another text", "Nothing.", "All of it is new!", "[-Nothing.][+All of it is new!]"],
    ["nothing before", "", "New", "[+New]"],
  ])("show %s", (_, before, now, expected) => expect(write(before, now)).toBe(expected));

  it("are by line where the texts are long", () => {
    const lines = Array.from({ length: 5_000 }, (_, i) => `line ${i} of the text\n`);
    const parts = diffTexts(lines.join(""), lines.with(2_500, "another line\n").join(""));
    expect(parts.filter(({ kind }) => kind !== "same")).toEqual([
      { kind: "removed", text: "line 2500 of the text\n" },
      { kind: "added", text: "another line\n" },
    ]);
  });
});
