/** A step that has failed after some of its tasks had ended: the thread is readable, and its state is the same everywhere. */
import { Annotation, interrupt, START, StateGraph } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { graphs } from "../../../src/deployment.ts";
import { newCaller } from "../../support/caller.ts";
import { newThread } from "../client.ts";

type Json = Record<string, unknown>;

const One = Annotation.Root({ n: Annotation<number> });
const asks = () => ({ n: Number(interrupt("which?")) });
const Many = Annotation.Root({
  log: Annotation<string[]>({ reducer: (had, more) => [...had, ...more], default: () => [] }),
});
const GRAPHS = {
  /** Two tasks write a value that takes one. */
  unapplied: new StateGraph(One)
    .addNode("left", asks)
    .addNode("right", asks)
    .addEdge(START, "left")
    .addEdge(START, "right")
    .compile(),
  /** A task fails when the one beside it has ended. */
  "half-failed": new StateGraph(Many)
    .addNode("left", () => ({ log: ["left"] }))
    .addNode("right", async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      throw new Error("right fails");
    })
    .addEdge(START, "left")
    .addEdge(START, "right")
    .compile(),
};

async function startThread(graphId: keyof typeof GRAPHS) {
  graphs[graphId] = GRAPHS[graphId];
  const caller = await newCaller();
  const path = `/threads/${await newThread(caller)}`;
  const run = async (body: Json) => {
    const response = await caller.fetch(`${path}/runs/wait`, { body: { assistant_id: graphId, ...body } });
    return response.json<{ __interrupt__?: { id: string }[]; __error__?: { error: string } }>();
  };
  const read = async (what: string) => {
    const response = await caller.fetch(`${path}${what}`);
    return { status: response.status, body: await response.json<{ values: unknown; next: string[] }>() };
  };
  return { run, read };
}

it("a state that two tasks have written against each other is that of its checkpoint", async () => {
  const { run, read } = await startThread("unapplied");
  const { __interrupt__: asked = [] } = await run({ input: { n: 1 } });
  expect(asked).toHaveLength(2);
  await run({ command: { resume: { [asked[0]?.id ?? ""]: 2 } } });
  const failed = await run({ command: { resume: { [asked[1]?.id ?? ""]: 3 } } });
  expect(failed.__error__?.error).toBe("InvalidUpdateError");
  expect(await read("/state")).toMatchObject({ status: 200, body: { values: { n: 1 }, next: ["left", "right"] } });
  expect(await read("")).toMatchObject({ status: 200, body: { status: "error", values: { n: 1 } } });
});

it("the thread shows what ended tasks of a failed step have written, as its state does", async () => {
  const { run, read } = await startThread("half-failed");
  const failed = await run({ input: { log: ["in"] } });
  expect(failed.__error__).toBeDefined();
  const values = { log: ["in", "left"] };
  expect(await read("/state")).toMatchObject({ status: 200, body: { values } });
  expect(await read("")).toMatchObject({ status: 200, body: { status: "error", values } });
});
