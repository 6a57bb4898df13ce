import { describe, expect, it } from "vitest";
import type { ThreadState } from "../../src/web/api/types.ts";
import { checkpointBefore, checkpointsByMessage, forksOf } from "../../src/web/chat/branches.ts";

/** A checkpoint: its id, its parent, and the ids of its messages ("h" for a person's, anything else for an agent's). */
function state(id: string, parent: string | undefined, messages: string, next: string[] = []): ThreadState {
  const ids = messages === "" ? [] : messages.split(" ");
  return {
    values: { messages: ids.map((one) => ({ id: one, type: one.startsWith("h") ? "human" : "ai", content: one })) },
    next,
    tasks: [],
    checkpoint: { checkpoint_id: id },
    parent_checkpoint: parent === undefined ? null : { checkpoint_id: parent },
    created_at: `2026-11-20T10:00:0${id.length}Z`,
  };
}

/** Two turns, then the second question edited, which forks from c2. Newest first, as the server tells it. */
const FORKED = [
  state("f2", "f1", "h1 a1 h2x a2x"),
  state("f1", "f0", "h1 a1 h2x", ["agent"]),
  state("f0", "c2", "h1 a1", ["__start__"]),
  state("c5", "c4", "h1 a1 h2 a2"),
  state("c4", "c3", "h1 a1 h2", ["agent"]),
  state("c3", "c2", "h1 a1", ["__start__"]),
  state("c2", "c1", "h1 a1"),
  state("c1", "c0", "h1", ["agent"]),
  state("c0", undefined, "", ["__start__"]),
];

describe("forks", () => {
  it("are where paths part, in the order in which they began", () => {
    const forks = forksOf(FORKED, ["h1", "a1", "h2x", "a2x"]);
    expect([...forks]).toEqual([["h2x", { index: 1, tips: ["c5", "f2"] }]]);
    expect(forksOf(FORKED, ["h1", "a1", "h2", "a2"]).get("h2")).toEqual({ index: 0, tips: ["c5", "f2"] });
  });

  it("are none on a straight thread, also when a summary took messages away", () => {
    expect(forksOf(FORKED.slice(3), ["h1", "a1", "h2", "a2"]).size).toBe(0);
    const summed = [state("s", "c5", "sum h3"), ...FORKED.slice(3)];
    expect(forksOf(summed, ["sum", "h3"]).size).toBe(0);
  });

  it("do not nest when a branch is edited again", () => {
    const again = [state("g2", "g0", "h1 a1 h2y a2y"), state("g0", "c2", "h1 a1", ["__start__"]), ...FORKED];
    expect(forksOf(again, ["h1", "a1", "h2y", "a2y"]).get("h2y")).toEqual({ index: 2, tips: ["c5", "f2", "g2"] });
  });

  it("keep a path that was stopped before its answer", () => {
    expect(forksOf(FORKED.toSpliced(3, 1), ["h1", "a1", "h2x", "a2x"]).get("h2x")?.tips).toEqual(["c4", "f2"]);
  });
});

describe("the checkpoint before a message", () => {
  it("is the end of the turn before it, on the same path", () => {
    expect(checkpointBefore(FORKED, undefined, "h2x")).toBe("c2");
    expect(checkpointBefore(FORKED, "c5", "h2")).toBe("c2");
  });

  it("is the empty beginning for the first message", () => {
    expect(checkpointBefore(FORKED, undefined, "h1")).toBe("c0");
  });

  it("is not known for a message of another path, or of none", () => {
    expect(checkpointBefore(FORKED, "c5", "h2x")).toBeUndefined();
    expect(checkpointBefore([], undefined, "h1")).toBeUndefined();
  });
});

describe("checkpoints by message", () => {
  it("are those that had the message first", () => {
    const found = checkpointsByMessage(FORKED, undefined);
    expect(Object.fromEntries([...found].map(([message, { id }]) => [message, id]))).toEqual({
      h1: "c1",
      a1: "c2",
      h2x: "f1",
      a2x: "f2",
    });
  });
});
