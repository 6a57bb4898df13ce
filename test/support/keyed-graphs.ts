/** Graphs whose tasks record their idempotency keys, and stop where a test ends their process. */
import "../../src/runtime/install.ts";
import { tool } from "@langchain/core/tools";
import {
  END,
  entrypoint,
  getConfig,
  interrupt,
  type LangGraphRunnableConfig,
  ReducedValue,
  Send,
  START,
  StateGraph,
  StateSchema,
  task,
} from "@langchain/langgraph";
import { z } from "zod";
import { type GraphFactory, graphs } from "../../src/deployment.ts";
import { toolLoop } from "../../examples/demo/src/loop.ts";

/** Every execution of a task, in order: the test's name of the task, and the key that the task found. */
export const executions: [task: string, key: unknown][] = [];

const held = new Set<string>();

/** Resolves when `task` runs for the first time; that execution never ends. */
export async function hold(task: string): Promise<void> {
  held.add(task);
  // The caller polls: workerd crashes when `abortAllDurableObjects` is called in a turn of a Durable Object.
  while (held.has(task)) await new Promise((resolve) => setTimeout(resolve, 1));
}

async function note(name: string, config: LangGraphRunnableConfig | undefined = getConfig()): Promise<void> {
  executions.push([name, config?.configurable?.idempotency_key]);
  if (held.delete(name)) await new Promise(() => {});
}

const State = new StateSchema({
  name: z.string().default(""),
  rounds: new ReducedValue(
    z.number().default(() => 0),
    { inputSchema: z.number(), reducer: (sum: number, more: number) => sum + more },
  ),
});
type State = typeof State.State;

const createNode = (name: string) => async (state: State, config: LangGraphRunnableConfig) => {
  await note(state.name + name, config);
  return {};
};

const deepest = new StateGraph(State).addNode("only", createNode("/only")).addEdge(START, "only").compile();

const inner = new StateGraph(State)
  .addNode("one", async (state, config) => {
    await note(`${state.name}/one`, config);
    await deepest.invoke({ name: `${state.name}/one` });
    return {};
  })
  .addNode("two", createNode("/two"))
  .addEdge(START, "one")
  .addEdge("one", "two")
  .compile();

/** Stores no checkpoints: an attempt of the task around it starts it from the beginning. */
const unsaved = new StateGraph(State)
  .addNode("one", createNode("/one"))
  .addNode("two", createNode("/two"))
  .addEdge(START, "one")
  .addEdge("one", "two")
  .compile({ checkpointer: false });

const shapes = new StateGraph(State)
  .addNode("first", createNode("first"))
  .addNode("left", createNode("left"))
  .addNode("right", createNode("right"))
  .addNode("each", createNode(""))
  .addNode("again", async ({ rounds }, config) => {
    await note(`again ${rounds}`, config);
    return { rounds: 1 };
  })
  .addNode("nested", inner)
  .addNode("caller", async (_state, config) => {
    await note("caller", config);
    for (const name of ["call 0", "call 1"]) await inner.invoke({ name }, config);
    await unsaved.invoke({ name: "unsaved" });
    return {};
  })
  .addEdge(START, "first")
  .addEdge("first", "left")
  .addEdge("first", "right")
  .addConditionalEdges("first", () => ["send 0", "send 1", "send 2"].map((name) => new Send("each", { name })), [
    "each",
  ])
  .addEdge(["left", "right"], "again")
  .addConditionalEdges("again", ({ rounds }) => (rounds < 3 ? "again" : "nested"), ["again", "nested"])
  .addEdge("nested", "caller")
  .compile({ name: "shapes" });

const insideInner = (name: string) => [`${name}/one`, `${name}/one/only`, `${name}/two`];

/** The tasks of a run of `shapes`. */
export const SHAPES = [
  ["first", "left", "right", "send 0", "send 1", "send 2", "again 0", "again 1", "again 2", "caller"],
  ["", "call 0", "call 1"].flatMap(insideInner),
  ["unsaved/one", "unsaved/two"],
].flat();

const part = task("part", async (name: string) => note(name));
const whole = task("whole", async (name: string) => {
  await note(name);
  await Promise.all([part(`${name}/part 0`), part(`${name}/part 1`)]);
  await inner.invoke({ name: `${name}/graph` });
});
const functional = entrypoint("functional", async (_input: object, config) => {
  await note("entry", config);
  await Promise.all([part("part 0"), part("part 1"), whole("whole 0")]);
  await whole("whole 1");
  return {};
});

const insideWhole = (name: string) => [name, `${name}/part 0`, `${name}/part 1`, ...insideInner(`${name}/graph`)];
/** The tasks of a run of `functional`. */
export const FUNCTIONAL = ["entry", "part 0", "part 1", ...["whole 0", "whole 1"].flatMap(insideWhole)];

/** Each of its tasks fails twice, and the retry policy executes it three times in one run. */
const retry = { maxAttempts: 3, initialInterval: 1, jitter: false, logWarning: false };
const failTwice = (failures: { count: number }) => {
  failures.count += 1;
  if (failures.count % 3 !== 0) throw new Error("Try again.");
};
const [ofPart, ofNode] = [{ count: 0 }, { count: 0 }];

const flakyPart = task({ name: "flaky_part", retry }, async () => {
  await note("flaky part");
  failTwice(ofPart);
});
const flaky = new StateGraph(State)
  .addNode("parts", async () => {
    await flakyPart();
    return {};
  })
  .addNode(
    "node",
    async (_state, config) => {
      await note("flaky node", config);
      await part("flaky node/part");
      await inner.invoke({ name: "flaky node" });
      failTwice(ofNode);
      return {};
    },
    { retryPolicy: retry },
  )
  .addEdge(START, "parts")
  .addEdge("parts", "node")
  .compile({ name: "flaky" });

/** Fails in its first run, without a retry. */
const failing = new StateGraph(State)
  .addNode("fails", async (_state, config) => {
    await note("fails", config);
    if (executions.length === 1) throw new Error("Not now.");
    return {};
  })
  .addEdge(START, "fails")
  .compile({ name: "failing" });

/** Two tasks of one node fail, and an error handler runs for each. */
const handled = new StateGraph(State)
  .addNode("fan", createNode("fan"))
  .addNode(
    "bad",
    async ({ name }: State, config) => {
      await note(name, config);
      throw new Error("Bad.");
    },
    {
      errorHandler: async ({ name }: State, _error: unknown, config?: LangGraphRunnableConfig) => {
        await note(`${name}/handler`, config);
        return {};
      },
    },
  )
  .addEdge(START, "fan")
  .addConditionalEdges("fan", () => ["bad 0", "bad 1"].map((name) => new Send("bad", { name })), ["bad"])
  .compile({ name: "handled" });

/** The tasks of a run of `handled`. */
export const HANDLED = ["fan", "bad 0", "bad 0/handler", "bad 1", "bad 1/handler"];

const question = new StateGraph(State)
  .addNode("ask", async (_state, config) => {
    await note("ask", config);
    interrupt("Continue?");
    return {};
  })
  .addEdge(START, "ask")
  .compile();

/** Asks in a nested graph. */
const asking = new StateGraph(State)
  .addNode("question", question)
  .addNode("act", createNode("act"))
  .addEdge(START, "question")
  .addEdge("question", "act")
  .addEdge("act", END)
  .compile({ name: "asking" });

/** The offline model calls these two in parallel when the request names both. */
export const TOOLS = ["calculator", "current_time"];

const createTool = (name: string) =>
  tool(
    async (_input, config: LangGraphRunnableConfig) => {
      await note(name, config);
      return "42";
    },
    { name, description: name, schema: z.object({}) },
  );
const assistant: GraphFactory = (_config, env) =>
  toolLoop(env, { name: "assistant", tools: TOOLS.map(createTool), prompt: "" });

Object.assign(graphs, { shapes, functional, flaky, failing, handled, asking, assistant });
