import { describe, expect, it } from "vitest";
import { after, type Course, ended } from "../../packages/web/console/assistants/course.ts";
import { toBody, toDraft, listFields } from "../../packages/web/console/assistants/draft.ts";
import {
  layOutGraph,
  type Lights,
  lit,
  eventNode,
  describeGraph,
} from "../../packages/web/console/assistants/graph.ts";
import { type Frame, readFrames } from "../../packages/web/api/frames.ts";

const GRAPH = {
  nodes: [{ id: "__start__" }, { id: "ask" }, { id: "team:plan" }, { id: "team:deep:dig" }, { id: "__end__" }],
  edges: [
    { source: "__start__", target: "ask" },
    { source: "ask", target: "team:plan", conditional: true, data: "hard" },
    { source: "ask", target: "__end__", conditional: true, data: "__end__" },
    { source: "team:plan", target: "team:deep:dig" },
  ],
};

describe("the drawing of a graph", () => {
  const drawn = layOutGraph(GRAPH);

  it("puts the nodes of subgraphs into frames, those around others first", () => {
    expect(drawn.groups).toEqual([
      { id: "team", label: "team", within: undefined },
      { id: "team:deep", label: "deep", within: "team" },
    ]);
    expect(drawn.boxes.map(({ label, within, kind }) => [label, within, kind])).toEqual([
      ["Start", undefined, "start"],
      ["ask", undefined, "node"],
      ["plan", "team", "node"],
      ["dig", "team:deep", "node"],
      ["End", undefined, "end"],
    ]);
  });

  it("labels a branch only with what its target does not say", () => {
    expect(drawn.edges.map(({ label }) => label)).toEqual([undefined, "hard", undefined, undefined]);
  });

  it("says in words what it shows", () => {
    expect(describeGraph(drawn)).toEqual(["Start leads to ask.", "ask leads to plan or End.", "plan leads to dig."]);
  });
});

describe("the lights of a run", () => {
  const NONE: Lights = new Map();
  const begins = { name: "tools", interrupts: [] };
  const ends = { name: "tools", result: {}, interrupts: [] };

  it("name the node by the namespace of the event", () => {
    expect(eventNode("tasks", { name: "ask" })).toBe("ask");
    expect(eventNode("tasks|team:1f|deep:2a", { name: "dig" })).toBe("team:deep:dig");
  });

  it("stay on until the last of several tasks of a node has ended", () => {
    const both = lit(lit(NONE, "tools", begins), "tools", begins);
    const one = lit(both, "tools", ends);
    expect(one.get("tools")).toEqual({ light: "running", open: 1, times: 2 });
    expect(lit(one, "tools", ends).get("tools")?.light).toBe("done");
  });

  it.each([
    [{ ...ends, error: "Error: no" }, "failed"],
    [{ ...ends, interrupts: [{ value: "?" }] }, "waiting"],
    [ends, "done"],
  ] as const)("after %j show %s", (end, light) => {
    expect(lit(lit(NONE, "tools", begins), "tools", end).get("tools")?.light).toBe(light);
  });

  it("keep a failure in view while others of the node end well", () => {
    const both = lit(lit(NONE, "tools", begins), "tools", begins);
    const failed = lit(both, "tools", { ...ends, error: "no" });
    expect(lit(failed, "tools", ends).get("tools")?.light).toBe("failed");
  });
});

describe("the course of a run", () => {
  const START: Course = { thread: "t", run: undefined, state: "running", lights: new Map(), steps: [] };
  const frame = (event: string, data: unknown) => ({ event, data: JSON.stringify(data) });
  const playFrames = (...frames: { event: string; data: string }[]) =>
    frames.reduce((course, one, i) => after(course, one, i * 100), START);
  const task = { id: "1", name: "ask", interrupts: [] };

  it("has the steps with their times, and the id of the run", () => {
    const course = playFrames(
      frame("metadata", { run_id: "r" }),
      frame("tasks", task),
      frame("tasks", { ...task, result: {}, interrupts: [] }),
    );
    expect(course).toMatchObject({
      run: "r",
      steps: [{ node: "ask", began: 100, ended: 200, state: "success" }],
    });
    const end = ended(course);
    expect([end.state, end.lights.get("__end__")?.light]).toEqual(["success", "done"]);
  });

  it("ends as waiting after an interrupt, and as failed after an error", () => {
    const asked = { ...task, result: {}, interrupts: [{ value: "?" }] };
    expect(ended(playFrames(frame("tasks", task), frame("tasks", asked))).state).toBe("interrupted");
    const broke = ended(
      playFrames(
        frame("tasks", { ...task, id: "0", name: "before" }),
        frame("tasks", { ...task, id: "0", name: "before", result: {}, interrupts: [] }),
        frame("tasks", task),
        frame("tasks", { ...task, result: {}, interrupts: [] }),
        frame("error", { error: "Error", message: "It broke." }),
      ),
    );
    expect([broke.state, broke.error, broke.lights.has("__end__")]).toEqual(["error", "It broke.", false]);
    expect(broke.steps.map(({ state }) => state)).toEqual(["success", "error"]);
    expect(broke.lights.get("ask")?.light).toBe("failed");
  });

  it("ends as stopped when a task has no end", () => {
    const stopped = ended(playFrames(frame("tasks", task)));
    expect([stopped.state, stopped.steps[0]?.state, stopped.lights.has("ask")]).toEqual(["stopped", "stopped", false]);
  });
});

it("frames of a stream are read across chunks, without comments", async () => {
  const chunks = ["event: tasks\nda", 'ta: {"a":1}\r\n\r\n: beat\n\nevent: x\ndata: 1\ndata: 2\n', "\n"];
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(Uint8Array.from(new TextEncoder().encode(chunk)));
      controller.close();
    },
  });
  const frames: Frame[] = [];
  for await (const frame of readFrames(body)) frames.push(frame);
  expect(frames).toEqual([
    { event: "tasks", data: '{"a":1}' },
    { event: "x", data: "1\n2" },
  ]);
});

describe("the configuration form", () => {
  const schemas = { context_schema: { properties: { tone: { type: "string" }, limit: { type: "integer" } } } };
  const assistant = { name: "A", config: { tags: ["t"] }, context: { limit: 5, extra: true }, metadata: { team: "x" } };
  const fields = listFields(schemas, assistant.context);

  it("has the declared fields, and those that are set beside them", () => {
    expect(fields.map(({ name, kind }) => [name, kind])).toEqual([
      ["tone", "text"],
      ["limit", "number"],
      ["extra", "boolean"],
    ]);
  });

  it("gives back what it was given, with its types", () => {
    const { name, config, context, metadata } = assistant;
    expect(toBody(toDraft(assistant, fields), fields)).toEqual({ name, description: null, config, context, metadata });
  });

  it("says which field is wrong", () => {
    const draft = toDraft(assistant, fields);
    expect(() => toBody({ ...draft, texts: { limit: "many" } }, fields)).toThrow("limit: Not a number.");
    expect(() => toBody({ ...draft, config: "[1]" }, fields)).toThrow("Run configuration must be a JSON object.");
    expect(() => toBody({ ...draft, metadata: "{" }, fields)).toThrow("Metadata is no JSON");
  });
});
