import { describe, expect, it } from "vitest";
import { messagesIn } from "../../packages/web/traces/trace/messages.ts";
import { fitting } from "../../packages/web/ui/fitting.ts";
import { parseRange } from "../../packages/web/resources/range.ts";
import { traceCourse } from "../../packages/web/traces/graph/graph.ts";
import {
  placeBar,
  failedBelow,
  listFailures,
  findMatches,
  neighbour,
  listRows,
  placeLabel,
  placeTicks,
  readFirstToken,
  measureTime,
} from "../../packages/web/traces/trace/tree.ts";
import type { Span } from "../../packages/web/traces/types.ts";

const BEGAN = Date.parse("2026-11-20T10:00:00Z");

function run(id: string, parents: string[], from = 0, seconds: number | null = 1): Span {
  const start_time = new Date(BEGAN + from * 1000).toISOString();
  const status = seconds === null ? "PENDING" : "SUCCESS";
  const fields = { name: id, run_type: "CHAIN", status, start_time, latency_seconds: seconds, project_id: "p" };
  const figures = { first_token_time: null, total_tokens: 0, total_cost: null };
  return { id, ...fields, ...figures, parent_run_ids: parents };
}

const TRACE = [
  run("root", [], 0, 4),
  run("node", ["root"], 0, 2),
  run("model", ["root", "node"], 1, 1),
  run("last", ["root"], 3, 1),
];

const describeRows = (runs: Span[], ...closed: string[]) =>
  listRows(runs, new Set(closed)).map(({ run, level, place, of }) => `${level} ${run.id} ${place}/${of}`);

describe("the tree of a trace", () => {
  it("has each run under its parent, in the order given", () => {
    expect(describeRows(TRACE)).toEqual(["1 root 1/1", "2 node 1/2", "3 model 1/1", "2 last 2/2"]);
  });

  it("leaves out what is below a closed run", () => {
    expect(describeRows(TRACE, "node")).toEqual(["1 root 1/1", "2 node 1/2", "2 last 2/2"]);
    expect(describeRows(TRACE, "root", "node")).toEqual(["1 root 1/1"]);
  });

  it("puts runs whose parent is missing at the top, and takes chains of any depth", () => {
    expect(describeRows(TRACE.slice(2))).toEqual(["1 model 1/2", "1 last 2/2"]);
    const chain = Array.from({ length: 20_000 }, (_, i) => run(`${i}`, i === 0 ? [] : [`${i - 1}`]));
    expect(listRows(chain, new Set()).at(-1)?.level).toBe(20_000);
  });

  it("has bars in percent of the whole; an open run lasts until it was read", () => {
    const time = measureTime(TRACE, BEGAN);
    expect(TRACE.map((one) => placeBar(one, time))).toEqual([
      { left: 0, width: 100 },
      { left: 0, width: 50 },
      { left: 25, width: 25 },
      { left: 75, width: 25 },
    ]);
    const open = [run("root", [], 0, null), run("node", ["root"], 2, 2)];
    expect(measureTime(open, BEGAN + 8_000)).toEqual({ from: BEGAN, to: BEGAN + 8_000, now: BEGAN + 8_000 });
    expect(placeBar(open[0]!, measureTime(open, BEGAN + 8_000))).toEqual({ left: 0, width: 100 });
  });
});

describe("the timeline of a trace", () => {
  it.each([
    ["after a bar", 10, 30, "after", 40],
    ["before a bar that ends at the right", 60, 40, "before", 40],
    ["on a bar that takes the width", 0, 100, "on", 0],
    ["at the left for a bar that is over before", -50, 20, "after", 0],
    ["at the right for a bar that comes later", 130, 20, "before", 0],
  ] as const)("has a label %s", (_, left, width, side, at) =>
    expect(placeLabel({ left, width })).toEqual({ side, at }),
  );

  it("knows the first token of models only", () => {
    const first_token_time = new Date(BEGAN + 400).toISOString();
    expect(readFirstToken({ ...run("model", []), run_type: "LLM", first_token_time })).toBe(0.4);
    expect(readFirstToken({ ...run("model", []), run_type: "LLM" })).toBeUndefined();
    expect(readFirstToken({ ...run("node", []), first_token_time })).toBeUndefined();
  });
});

describe("messages", () => {
  const hi = { role: "User", text: "hi", calls: [] };
  it.each([
    ["of an agent's state", { messages: [{ type: "human", content: "hi" }] }],
    ["of a model's batch", { messages: [[{ type: "human", content: [{ type: "text", text: "hi" }] }]] }],
    ["as pairs", { messages: [["human", "hi"]] }],
    [
      "as LangChain keeps them",
      { messages: [[{ lc: 1, id: ["langchain_core", "messages", "HumanMessage"], kwargs: { content: "hi" } }]] },
    ],
    ["of a generation", { generations: [[{ text: "hi", message: { type: "human", content: "hi" } }]] }],
    ["of an output", { output: { role: "human", content: "hi" } }],
  ])("are found %s", (_, value) => expect(messagesIn(value)).toEqual([hi]));

  it("have their calls, in both forms", () => {
    const calls = [{ name: "add", args: '{\n  "a": 1\n}' }];
    const langchain = { type: "ai", content: "", tool_calls: [{ name: "add", args: { a: 1 } }] };
    expect(messagesIn({ messages: [langchain] })).toEqual([{ role: "Assistant", text: "", calls }]);
    const openai = {
      message: { role: "assistant", content: null, tool_calls: [{ function: { name: "add", arguments: "{}" } }] },
    };
    expect(messagesIn({ choices: [openai] })).toEqual([
      { role: "Assistant", text: "", calls: [{ name: "add", args: "{}" }] },
    ]);
  });

  it.each([
    [{ query: "hi" }],
    [{ messages: [] }],
    [{ messages: ["hi"] }],
    [{ output: 5 }],
    [null],
    [{ output: { a: 1 } }],
  ])("are none in %j", (value) => expect(messagesIn(value)).toBeUndefined());
});

describe("the way through a trace", () => {
  const failRun = (run: Span): Span => ({ ...run, status: "ERROR" });
  const runs = [
    failRun(run("root", [])),
    failRun(run("node", ["root"])),
    failRun(run("model", ["root", "node"])),
    run("tool", ["root", "node"]),
    failRun(run("last", ["root"])),
  ];
  const rows = listRows(runs, new Set());
  const order = new Map(rows.map((row, i) => [row.run.id, i]));

  it("names the runs that failed by themselves, and counts what a closed run hides", () => {
    expect(listFailures(rows)).toEqual(["model", "last"]);
    expect(Object.fromEntries(failedBelow(runs))).toEqual({ root: 3, node: 1 });
  });

  it("finds by name, type and id, and goes around the end", () => {
    expect(findMatches(rows, " L ")).toEqual(["model", "tool", "last"].filter((id) => id.includes("l")));
    expect(findMatches(rows, "  ")).toEqual([]);
    const ids = ["model", "last"];
    expect(neighbour(ids, order, "root", 1)).toBe("model");
    expect(neighbour(ids, order, "last", 1)).toBe("model");
    expect(neighbour(ids, order, "model", -1)).toBe("last");
    expect(neighbour([], order, "model", 1)).toBeUndefined();
  });

  it.each([
    [0, 40_000, [0, 10_000, 20_000, 30_000, 40_000]],
    [0, 199, [0, 50, 100, 150]],
    [20_000, 21_000, [20_000, 20_200, 20_400, 20_600, 20_800, 21_000]],
  ])("has round times on the axis from %d to %d", (from, to, ticks) => {
    expect(placeTicks(from, to)).toEqual(ticks);
  });

  it("draws a step for each name, after the steps that ended right before it", () => {
    const course = traceCourse(
      [
        run("root", [], 0, 9),
        run("plan", ["root"], 0, 1),
        { ...run("a", ["root"], 1, 2), name: "work" },
        { ...run("b", ["root"], 1, 3), name: "check" },
        failRun(run("end", ["root"], 5, 1)),
      ],
      "root",
    );
    expect(course.steps.map(({ name, failed }) => [name, failed])).toEqual([
      ["plan", 0],
      ["work", 0],
      ["check", 0],
      ["end", 1],
    ]);
    expect(course.edges.map(({ from, to }) => `${from} ${to}`)).toEqual([
      "plan work",
      "plan check",
      "work end",
      "check end",
    ]);
  });

  it("joins steps that begin at once and take no time in one direction only", () => {
    const spans = [
      run("root", [], 0, 9),
      run("a", ["root"], 1, 0),
      run("b", ["root"], 1, 0),
      run("c", ["root"], 1, null),
      run("d", ["root"], 2, null),
    ];
    const edges = traceCourse(spans, "root").edges.map(({ from, to }) => `${from} ${to}`);
    expect(edges).toEqual(["a b", "a c", "b c", "a d", "b d"]);
  });

  it("of 2,000 steps reads each time once", () => {
    let reads = 0;
    const spans = Array.from({ length: 2_000 }, (_, i) => {
      const { start_time, ...rest } = run(`s${i}`, ["root"], i, 1);
      return Object.defineProperty(rest, "start_time", { get: () => (reads++, start_time) }) as Span;
    });
    const { edges } = traceCourse(spans, "root");
    expect(edges).toHaveLength(1_999);
    expect(reads).toBe(2_000);
  });
});

describe("the console", () => {
  it("leaves out the last columns that do not fit, never one that is kept", () => {
    const columns = [
      { id: "a", width: 100, kept: true },
      { id: "b", width: 100 },
      { id: "c", width: 300 },
      { id: "d", width: 50 },
    ];
    const listShown = (width: number) => fitting(columns, width).map(({ id }) => id);
    expect(listShown(600)).toEqual(["a", "b", "c", "d"]);
    expect(listShown(300)).toEqual(["a", "b"]);
    expect(listShown(50)).toEqual(["a"]);
  });

  it("reads a time range of an address, and takes the last day where there is none", () => {
    const now = Date.parse("2026-11-22T12:00:00Z");
    const parseText = (text: string) => parseRange(new URLSearchParams(text), now);
    expect(parseText("range=7d").from).toBe(now - 7 * 86_400_000);
    expect([parseText("").key, parseText("range=nonsense").key]).toEqual(["24h", "24h"]);
    const custom = parseText("from=2026-11-20T00:00:00Z&to=2026-11-21T00:00:00Z");
    expect([custom.from, custom.to]).toEqual([Date.parse("2026-11-20"), Date.parse("2026-11-21")]);
    expect(parseText("from=2026-11-20T00:00:00Z&to=2026-11-19T00:00:00Z").to).toBeUndefined();
  });
});
