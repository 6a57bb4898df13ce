/** A run that gives an answer and is tried again, because its process ended, gives the answer to one question. */
import "../../../src/runtime/install.ts";
import { abortAllDurableObjects } from "cloudflare:test";
import { Annotation, END, interrupt, START, StateGraph } from "@langchain/langgraph";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { graphs } from "../../../src/deployment.ts";
import { newCaller } from "../../support/caller.ts";
import { get } from "../client.ts";
import { ask, listQuestions } from "./ask.ts";

const State = Annotation.Root({
  said: Annotation<string[]>({ reducer: (before, more) => [...before, ...more], default: () => [] }),
});

/** How often the node beside the question began, and how often the second question was reached. */
const begun = { beside: 0, second: 0 };
beforeEach(() => void Object.assign(begun, { beside: 0, second: 0 }));

/** Fails in the run that asks, so that it runs again in the one that answers. There it does not end before its process does. */
async function beside() {
  begun.beside += 1;
  if (begun.beside === 1) {
    // After the question.
    await scheduler.wait(100);
    throw new Error("The run ends here.");
  }
  if (begun.beside === 2) await new Promise(() => {});
  return { said: ["beside"] };
}

function askSecond(): unknown {
  begun.second += 1;
  return interrupt("two?");
}

const nested = new StateGraph(State)
  .addNode("one", () => ({ said: [JSON.stringify(interrupt("one?"))] }))
  .addNode("two", () => ({ said: [JSON.stringify(askSecond())] }))
  .addEdge(START, "one")
  .addEdge("one", "two")
  .addEdge("two", END)
  .compile();

const build = (node: Parameters<StateGraph<(typeof State)["spec"]>["addNode"]>[1]) =>
  new StateGraph(State)
    .addNode("asks", node as never)
    .addNode("beside", beside)
    .addEdge(START, "asks")
    .addEdge(START, "beside")
    .addEdge("asks", END)
    .addEdge("beside", END)
    .compile();
Object.assign(graphs, {
  asksTwice: build((() => ({ said: [JSON.stringify([interrupt("one?"), askSecond()])] })) as never),
  asksInTwoNodes: build(nested as never),
});

describe.each(["the latest checkpoint", "one of the past"])("from %s", (from) => {
  it.each([
    ["asksTwice", "by its id"],
    ["asksTwice", "without an id"],
    ["asksInTwoNodes", "by its id"],
    ["asksInTwoNodes", "without an id"],
  ])("%s, answered %s", async (graph, how) => {
    const caller = await newCaller();
    const { thread, question } = await ask(caller, graph);
    const { checkpoint } = await get<{ checkpoint: { checkpoint_id: string } }>(caller, `/threads/${thread}/state`);
    const isPast = from === "one of the past";
    if (isPast) await caller.fetch(`/threads/${thread}/state`, { body: { values: { said: ["since"] } } });
    const resume = how === "by its id" ? { [question.id]: "yes" } : "yes";
    const place = isPast ? { checkpoint_id: checkpoint.checkpoint_id } : {};
    const body = { assistant_id: graph, command: { resume }, ...place };
    const { run_id } = await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
    await vi.waitFor(() => expect(begun).toEqual({ beside: 2, second: 1 }));
    await abortAllDurableObjects();
    await get(caller, `/threads/${thread}/runs/${run_id}/join`);
    // It waits for the second answer: there, or at the checkpoint of the past.
    expect(await get(caller, `/threads/${thread}/runs/${run_id}`)).toMatchObject({ status: "interrupted" });
    expect((await listQuestions(caller, thread)).map(({ value }) => value)).toEqual(isPast ? [] : ["two?"]);
  });
});
