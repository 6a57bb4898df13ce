import { describe, expect, it } from "vitest";
import {
  findCheckpoints,
  findForks,
  joined,
  mayResumeAfter,
  resumedRuns,
  type Step,
} from "../../packages/web/api/checkpoints.ts";

/** A checkpoint: its id, its parent, its last message, and what comes next. */
const step = (id: string, parent: string | undefined, last: string | null, next: string[] = [], run = "r1"): Step => ({
  id,
  parent,
  last,
  next,
  run,
  at: `2026-11-20T10:00:0${id.length}Z`,
  source: next.includes("__start__") ? "input" : "loop",
});

/** Two turns, then the second question edited, which forks from c2. Newest first, as the server lists them. */
const FORKED = [
  step("f2", "f1", "a2x"),
  step("f1", "f0", "h2x", ["agent"]),
  step("f0", "c2", "a1", ["__start__"]),
  step("c5", "c4", "a2"),
  step("c4", "c3", "h2", ["agent"]),
  step("c3", "c2", "a1", ["__start__"]),
  step("c2", "c1", "a1"),
  step("c1", "c0", "h1", ["agent"]),
  step("c0", undefined, null, ["__start__"]),
];
const messages = (text: string) => text.split(" ").map((id) => ({ id }));
const NEW = messages("h1 a1 h2x a2x");
const OLD = messages("h1 a1 h2 a2");

describe("forks", () => {
  it("are where paths part, in the order in which they began", () => {
    expect([...findForks(FORKED, undefined, NEW)]).toEqual([["h2x", { index: 1, tips: ["c5", "f2"] }]]);
    expect([...findForks(FORKED, "c5", OLD)]).toEqual([["h2", { index: 0, tips: ["c5", "f2"] }]]);
  });

  it("are none on a straight thread, also when a summary took messages away", () => {
    expect(findForks(FORKED.slice(3), undefined, OLD).size).toBe(0);
    expect(findForks([step("s", "c5", "h3"), ...FORKED.slice(3)], undefined, messages("sum h3")).size).toBe(0);
  });

  it("do not nest when a branch is edited again", () => {
    const again = [step("g2", "g0", "a2y"), step("g0", "c2", "a1", ["__start__"]), ...FORKED];
    expect([...findForks(again, undefined, messages("h1 a1 h2y a2y"))]).toEqual([
      ["h2y", { index: 2, tips: ["c5", "f2", "g2"] }],
    ]);
  });

  it("keep a path that was stopped before its answer", () => {
    expect(findForks(FORKED.toSpliced(3, 1), undefined, NEW).get("h2x")?.tips).toEqual(["c4", "f2"]);
  });

  it("leave out a path whose beginning is not read yet", () => {
    expect(findForks(FORKED.slice(0, 5), undefined, NEW).size).toBe(0);
  });

  it("count once a path that was run again without another message", () => {
    const again = [step("d1", "c4", "a2"), ...FORKED.slice(3)];
    expect(findForks(again, undefined, OLD).size).toBe(0);
  });
});

describe("the checkpoint before a message", () => {
  const checkpointBefore = (steps: Step[], tip: string | undefined, of: { id: string }[], id: string) =>
    findCheckpoints(steps, tip, of).get(id)?.from;

  it("is the end of the turn before it, on the same path", () => {
    expect(checkpointBefore(FORKED, undefined, NEW, "h2x")).toBe("c2");
    expect(checkpointBefore(FORKED, "c5", OLD, "h2")).toBe("c2");
  });

  it("is the empty beginning for the first message", () => {
    expect(checkpointBefore(FORKED, undefined, NEW, "h1")).toBe("c0");
  });

  it("is not known for a message of another path, of no checkpoint, or of one that is not read yet", () => {
    expect(checkpointBefore(FORKED, "c5", OLD, "h2x")).toBeUndefined();
    expect(checkpointBefore([], undefined, NEW, "h1")).toBeUndefined();
    expect(checkpointBefore(FORKED.slice(0, 3), undefined, NEW, "h2x")).toBe("f0");
    expect(checkpointBefore(FORKED.slice(0, 2), undefined, NEW, "h2x")).toBeUndefined();
  });
});

describe("checkpoints by message", () => {
  it("are those that had the message first, also where one step adds several messages", () => {
    const ids = (found: ReturnType<typeof findCheckpoints>) => [...found].map(([message, { id }]) => [message, id]);
    expect(ids(findCheckpoints(FORKED, undefined, NEW))).toEqual([
      ["h1", "c1"],
      ["a1", "c2"],
      ["h2x", "f1"],
      ["a2x", "f2"],
    ]);
    const tools = [step("t2", "t1", "t-b"), step("t1", undefined, "a1")];
    expect(ids(findCheckpoints(tools, undefined, messages("h1 a1 t-a t-b")))).toEqual([
      ["h1", "t1"],
      ["a1", "t1"],
      ["t-a", "t2"],
      ["t-b", "t2"],
    ]);
  });

  it("are left out where an older checkpoint that is not read may have had the message first", () => {
    expect([...findCheckpoints(FORKED.slice(0, 3), undefined, NEW).keys()]).toEqual(["h2x", "a2x"]);
    const summary = [step("s", "f2", "sum"), ...FORKED.slice(0, 3)];
    expect([...findCheckpoints(summary, undefined, messages("sum h3")).keys()]).toEqual([]);
  });

  it("of a message are before it also where a run stopped at the same number of messages", () => {
    const stopped = [step("s1", "s0", "h2", ["agent"]), step("s0", "c2", "a1", ["__start__"]), ...FORKED.slice(6)];
    expect(findCheckpoints(stopped, undefined, messages("h1 a1 h2")).get("h2")?.from).toBe("c2");
  });
});

describe("pages of checkpoints", () => {
  it("are joined once each, newest first", () => {
    const createSteps = (...ids: string[]) => ids.map((id) => step(id, undefined, null));
    const ids = (steps: Step[]) => steps.map(({ id }) => id).join("");
    expect(ids(joined(createSteps("c", "b"), createSteps("e", "d", "c")))).toBe("edcb");
    expect(ids(joined(createSteps("c", "b"), createSteps("b", "a")))).toBe("cba");
    expect(ids(joined([], createSteps("b", "a")))).toBe("ba");
  });
});

describe("runs that resumed from an interrupt", () => {
  const asked = [step("q2", "q1", "a1", ["review"]), step("q1", undefined, "h1", ["agent"])];
  const resumed = [step("q4", "q3", "a2", [], "r2"), step("q3", "q2", "a1", ["tools"], "r2"), ...asked];

  it("are those that begin without an input, where the path was not at its end", () => {
    expect(resumedRuns(resumed, undefined)).toEqual([{ run: "r2", after: "a1", at: resumed[1]!.at }]);
    expect(resumedRuns(FORKED, undefined)).toEqual([]);
  });

  it("may be there before they are read, but not on a path that another run continued", () => {
    expect(mayResumeAfter(asked.slice(1), undefined, "a1")).toBe(true);
    expect(mayResumeAfter(asked, undefined, "a1")).toBe(true);
    expect(mayResumeAfter(resumed, undefined, "a1")).toBe(true);
    const continued = [
      step("e2", "e1", "h2", ["agent"], "r3"),
      step("e1", "q2", "a1", ["__start__"], "r3"),
      ...resumed,
    ];
    expect(mayResumeAfter(continued, undefined, "a1")).toBe(false);
    expect(mayResumeAfter(continued, "q4", "a1")).toBe(true);
  });
});
