import { describe, expect, it } from "vitest";
import { messagesIn } from "../../src/web/trace/messages.ts";
import { barOf, rowsOf, timeOf } from "../../src/web/trace/tree.ts";
import type { Span } from "../../src/web/trace/types.ts";

const BEGAN = Date.parse("2026-11-20T10:00:00Z");

function run(id: string, parents: string[], from = 0, seconds: number | null = 1): Span {
  const start_time = new Date(BEGAN + from * 1000).toISOString();
  const status = seconds === null ? "PENDING" : "SUCCESS";
  const fields = { name: id, run_type: "CHAIN", status, start_time, latency_seconds: seconds, project_id: "p" };
  return { id, ...fields, parent_run_ids: parents };
}

const TRACE = [
  run("root", [], 0, 4),
  run("node", ["root"], 0, 2),
  run("model", ["root", "node"], 1, 1),
  run("last", ["root"], 3, 1),
];

const shapeOf = (runs: Span[], ...closed: string[]) =>
  rowsOf(runs, new Set(closed)).map(({ run, level, place, of }) => `${level} ${run.id} ${place}/${of}`);

describe("the tree of a trace", () => {
  it("has each run under its parent, in the order given", () => {
    expect(shapeOf(TRACE)).toEqual(["1 root 1/1", "2 node 1/2", "3 model 1/1", "2 last 2/2"]);
  });

  it("leaves out what is below a closed run", () => {
    expect(shapeOf(TRACE, "node")).toEqual(["1 root 1/1", "2 node 1/2", "2 last 2/2"]);
    expect(shapeOf(TRACE, "root", "node")).toEqual(["1 root 1/1"]);
  });

  it("puts runs whose parent is missing at the top, and takes chains of any depth", () => {
    expect(shapeOf(TRACE.slice(2))).toEqual(["1 model 1/2", "1 last 2/2"]);
    const chain = Array.from({ length: 20_000 }, (_, i) => run(`${i}`, i === 0 ? [] : [`${i - 1}`]));
    expect(rowsOf(chain, new Set()).at(-1)?.level).toBe(20_000);
  });

  it("has bars in hundredths of the whole; what runs goes on until it was read", () => {
    const time = timeOf(TRACE, BEGAN);
    expect(TRACE.map((one) => barOf(one, time))).toEqual([
      { left: 0, width: 100 },
      { left: 0, width: 50 },
      { left: 25, width: 25 },
      { left: 75, width: 25 },
    ]);
    const open = [run("root", [], 0, null), run("node", ["root"], 2, 2)];
    expect(timeOf(open, BEGAN + 8_000)).toEqual({ from: BEGAN, to: BEGAN + 8_000, now: BEGAN + 8_000 });
    expect(barOf(open[0]!, timeOf(open, BEGAN + 8_000))).toEqual({ left: 0, width: 100 });
  });
});

describe("messages", () => {
  const hi = { role: "human", text: "hi", calls: [] };
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
    expect(messagesIn({ messages: [langchain] })).toEqual([{ role: "ai", text: "", calls }]);
    const openai = {
      message: { role: "assistant", content: null, tool_calls: [{ function: { name: "add", arguments: "{}" } }] },
    };
    expect(messagesIn({ choices: [openai] })).toEqual([
      { role: "assistant", text: "", calls: [{ name: "add", args: "{}" }] },
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
